// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeps the arguments of @loss equal to what @forward returns, while its inside stays as it was
// built (float32): Keras's losses cast predictions to float32 first (keras/src/losses/loss.py).
#ifndef MPC_LIB_TRANSFORMS_LOSSBOUNDARY_H
#define MPC_LIB_TRANSFORMS_LOSSBOUNDARY_H

#include "dialects/mpc/IR/Mpc.h"

namespace mpc {

/// The function `name` of the module, or null where none has a body.
mlir::func::FuncOp lookupFunction(mlir::ModuleOp module, llvm::StringRef name);

/// Gives the argument another element type; uses see a cast to the type that it had.
void retypeArgument(mlir::func::FuncOp function, unsigned index, mlir::RankedTensorType type);

/// Rewrites the function's type after its results or arguments have changed theirs.
void updateFunctionType(mlir::func::FuncOp function);

/// Retypes the arguments of @loss that are outputs of @forward.
void matchLossArguments(mlir::ModuleOp module);

} // namespace mpc

#endif // MPC_LIB_TRANSFORMS_LOSSBOUNDARY_H
