// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares the claims of a certificate with what each op of a function gives.
#ifndef MPC_TOOLS_MPC_CHECK_CERTIFICATE_CHECKER_H
#define MPC_TOOLS_MPC_CHECK_CERTIFICATE_CHECKER_H

#include "mpc/Support/WeightStore.h"
#include "tools/mpc-check-certificate/Fact.h"
#include "llvm/Support/JSON.h"

namespace mpc::check {

struct Verdict {
  std::vector<std::string> faults; ///< "values[3]: what is wrong"; empty: the certificate is valid
  size_t values = 0, fitting = 0;  ///< of the latter it proves that float16 holds them
};

/// Whether `certificate` has a claim for each value, each claim holds whatever the inputs within
/// their ranges, and none says more or less than was derived.
Verdict checkCertificate(const llvm::json::Object &certificate, mlir::ModuleOp module,
                         const WeightStore &weights);

} // namespace mpc::check

#endif // MPC_TOOLS_MPC_CHECK_CERTIFICATE_CHECKER_H
