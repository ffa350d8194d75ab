// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel that stands for one op of mpcrt, whose loops the op's own code writes.
#ifndef MPC_LIB_CONVERSION_LINALGTOMPCRT_OPKERNEL_H
#define MPC_LIB_CONVERSION_LINALGTOMPCRT_OPKERNEL_H

#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mpc {

struct OpKernel {
  /// Starts a kernel of `entry` for `op`; `what` becomes a part of its name.
  OpKernel(mlir::func::FuncOp entry, mlir::Operation *op, llvm::StringRef what)
      : OpKernel(entry, op, op->getOperands(), what) {}
  /// The same with these in place of the op's operands.
  OpKernel(mlir::func::FuncOp entry, mlir::Operation *op, mlir::ValueRange operands,
           llvm::StringRef what);

  /// Ends the kernel, and launches it so many times in place of the op. `split` says over what.
  void launch(mlir::Operation *op, mlir::Value count, llvm::StringRef split);

  mlir::func::FuncOp function;
  mlir::OpBuilder builder;                 ///< in the body
  llvm::SmallVector<mlir::Value> operands; ///< those of the op, in the body
  mlir::Value batch, begin, end;

private:
  llvm::SmallVector<mlir::Value> arguments; ///< of the launch
};

} // namespace mpc

#endif
