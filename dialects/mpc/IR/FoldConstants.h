// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How ops of the dialect fold that have no rule of their own, or whose rule found nothing.
#ifndef MPC_DIALECTS_MPC_IR_FOLDCONSTANTS_H
#define MPC_DIALECTS_MPC_IR_FOLDCONSTANTS_H

#include "mlir/Interfaces/FoldInterfaces.h"

namespace mpc {

/// An op of small constants alone is the constant that ReferenceOpInterface says, where compiled
/// code computes the same (ExactOfConstants).
struct FoldConstants : mlir::DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;
  llvm::LogicalResult fold(mlir::Operation *op, llvm::ArrayRef<mlir::Attribute> operands,
                           llvm::SmallVectorImpl<mlir::OpFoldResult> &results) const final;
};

} // namespace mpc

#endif // MPC_DIALECTS_MPC_IR_FOLDCONSTANTS_H
