// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Turns one structured op into a kernel function and its launch.
#ifndef MPC_LIB_CONVERSION_LINALGTOMPCRT_KERNELOUTLINER_H
#define MPC_LIB_CONVERSION_LINALGTOMPCRT_KERNELOUTLINER_H

#include "LoopEmitter.h"

namespace mpc {

class KernelOutliner {
public:
  explicit KernelOutliner(mlir::func::FuncOp entry);

  /// Replaces `op`. Failure, with an error on the op, when it cannot be expressed.
  mlir::LogicalResult outline(mlir::linalg::GenericOp op);

private:
  /// A kernel under construction.
  struct Kernel {
    mlir::func::FuncOp function;
    mlir::OpBuilder builder;
    mlir::SmallVector<mlir::Value> buffers; ///< the op's operands inside
    mlir::SmallVector<mlir::Value> extras;  ///< the launch's further arguments, inside
    mlir::IRMapping captured;
    mlir::Value batch, begin, end;
    mlir::SmallVector<mlir::Value> arguments; ///< of the launch
  };

  mlir::linalg::GenericOp flatten(mlir::linalg::GenericOp op);
  Kernel createKernel(mlir::linalg::GenericOp op, mlir::ValueRange extras);
  void finish(mlir::linalg::GenericOp op, Kernel &kernel, mlir::Value count, int64_t grain,
              Split split);
  void emitInline(mlir::linalg::GenericOp op, const IterationSpace &space);
  void emitLaunch(mlir::linalg::GenericOp op, const IterationSpace &space);
  mlir::LogicalResult emitBlocks(mlir::linalg::GenericOp op, const IterationSpace &space);

  mlir::func::FuncOp entry;
  mlir::Value batch;
};

/// Lets equal kernels of a module share one function.
void mergeEqualKernels(mlir::ModuleOp module);

} // namespace mpc

#endif
