// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels as one thread of a GPU sees them.
#ifndef MPC_LIB_CODEGEN_CUDA_THREADKERNEL_H
#define MPC_LIB_CODEGEN_CUDA_THREADKERNEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"

namespace mpc {

/// Makes them; holds what all kernels of a module share.
class ThreadKernels {
public:
  explicit ThreadKernels(mlir::MLIRContext *context);

  /// A copy of an outlined kernel for one iteration of its launch, `begin`: loops over the launch
  /// are gone, and so are the temporaries of one number that they needed. `end` is `begin` + 1
  /// where it is still used.
  mlir::OwningOpRef<mlir::func::FuncOp> make(mlir::func::FuncOp kernel) const;

private:
  mlir::FrozenRewritePatternSet canonical;
};

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CUDA_THREADKERNEL_H
