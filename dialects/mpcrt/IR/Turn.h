// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operands of float8 whose columns lie one after the other: the op that writes them so, and how
// contractions and kernels say that they know.
#ifndef MPC_DIALECTS_MPCRT_IR_TURN_H
#define MPC_DIALECTS_MPCRT_IR_TURN_H

#include "dialects/mpcrt/IR/Mpcrt.h"

#define GET_OP_CLASSES
#include "dialects/mpcrt/IR/MpcrtTurnOp.h.inc"

namespace mpc::mpcrt {

/// Unit attributes of mpcrt.contract: memory has the columns of the operand one after the other, as
/// mpcrt.turn wrote them. Of matrices of float8 alone.
constexpr llvm::StringLiteral kTurnedLhsAttr = "mpcrt.turned_lhs";
constexpr llvm::StringLiteral kTurnedRhsAttr = "mpcrt.turned_rhs";

/// Unit attribute of a kernel that turns numbers and does nothing else.
constexpr llvm::StringLiteral kTurnsAttr = "mpcrt.turns";

/// Whether the left operand lies as [k, m] in memory, the right one as [n, k].
inline bool isLhsTransposed(ContractOp op) {
  return op.getTransposeLhs() != op->hasAttr(kTurnedLhsAttr);
}
inline bool isRhsTransposed(ContractOp op) {
  return op.getTransposeRhs() != op->hasAttr(kTurnedRhsAttr);
}

/// The rules of these attributes.
llvm::LogicalResult verifyTurned(mlir::Operation *op, mlir::NamedAttribute attribute);

} // namespace mpc::mpcrt

#endif // MPC_DIALECTS_MPCRT_IR_TURN_H
