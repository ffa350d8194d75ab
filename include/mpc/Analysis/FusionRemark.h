// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Remarks on ops that become one kernel or call, or stay several.
#ifndef MPC_ANALYSIS_FUSIONREMARK_H
#define MPC_ANALYSIS_FUSIONREMARK_H

#include "mlir/IR/Remarks.h"

namespace mpc {

/// A remark of the phases fusion and tensors, by its stable name.
inline mlir::remark::RemarkOpts fusionRemark(llvm::StringRef name) {
  return mlir::remark::RemarkOpts::name(name).category("mpc-fusion");
}

} // namespace mpc

#endif // MPC_ANALYSIS_FUSIONREMARK_H
