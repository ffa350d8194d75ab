// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The option `target` of passes.
#ifndef MPC_SUPPORT_TARGETOPTION_H
#define MPC_SUPPORT_TARGETOPTION_H

#include "mlir/IR/Operation.h"

namespace mpc {

/// Whether `target` is "cpu", "cuda", or "cuda:" with architectures behind it; an error at `op` if
/// it is not.
inline llvm::LogicalResult checkTargetOption(mlir::Operation *op, llvm::StringRef target) {
  if (target == "cpu" || target == "cuda" || target.starts_with("cuda:"))
    return llvm::success();
  return op->emitError() << "target=" << target << ": expected cpu, cuda or cuda:sm_N,…";
}

} // namespace mpc

#endif
