// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks what all phases of the graph promise of their tensors.
#ifndef MPC_ANALYSIS_GRAPHCONTRACT_H
#define MPC_ANALYSIS_GRAPHCONTRACT_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace mpc {

/// Fails, with an error, where a result of `op` has no elements: buffers have strides, of which
/// those would be none.
inline llvm::LogicalResult verifyElements(mlir::Operation *op) {
  for (mlir::Region &region : op->getRegions())
    for (mlir::Block &block : region)
      for (mlir::BlockArgument argument : block.getArguments())
        if (auto type = llvm::dyn_cast<mlir::ShapedType>(argument.getType());
            type && type.hasRank() && llvm::is_contained(type.getShape(), 0))
          return op->emitError() << "an argument of the body is " << type
                                 << ", which has no elements";
  for (mlir::Type result : op->getResultTypes())
    if (auto type = llvm::dyn_cast<mlir::ShapedType>(result);
        type && type.hasRank() && llvm::is_contained(type.getShape(), 0))
      return op->emitError() << "a result is " << type << ", which has no elements";
  return llvm::success();
}

} // namespace mpc

#endif // MPC_ANALYSIS_GRAPHCONTRACT_H
