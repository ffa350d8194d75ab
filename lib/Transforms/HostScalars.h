// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers that the host knows, such as one over the batch.
#ifndef MPC_LIB_TRANSFORMS_HOSTSCALARS_H
#define MPC_LIB_TRANSFORMS_HOSTSCALARS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"

namespace mpc {

/// Ops of the entry that compute one number of scalars become scalar code, and the number an
/// argument of the kernels that read it: none of them then waits for it.
void passHostScalars(mlir::IRRewriter &rewriter, mlir::func::FuncOp entry);

} // namespace mpc

#endif // MPC_LIB_TRANSFORMS_HOSTSCALARS_H
