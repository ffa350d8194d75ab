// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which ops contractions may take over, and the order in which they do.
#include "lib/Conversion/MpcToLinalg/ProductParts.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc;

/// Contractions apply gelu to 16 bits.
static bool isShort(Value value) { return elementTypeOf(value).getIntOrFloatBitWidth() == 16; }

bool ProductParts::areOf(Operation *op) const {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](SelectOp select) { return reluMasks && isReluDerivative(select); })
      .Case<GeluOp, GeluGradientOp>([&](auto each) { return gelu && isShort(each.getInput()); })
      .Case([&](ReduceOp sum) { return columnSums && isColumnSum(sum); })
      .Case([&](CastOp cast) { return inputCasts && isInputCast(cast); })
      .Default(false);
}

bool ProductParts::concern(Operation *op) const {
  if (areOf(op))
    return true;
  auto cast = dyn_cast<CastOp>(op);
  return (isa<CompareOp>(op) || (cast && isWideningCast(cast))) &&
         llvm::any_of(op->getUsers(), [&](Operation *user) { return areOf(user); });
}

void ProductParts::takeFrom(Operation *function) const {
  SmallVector<Operation *> ops;
  function->walk([&](Operation *op) {
    if (areOf(op))
      ops.push_back(op);
  });
  IRRewriter rewriter(function->getContext());
  for (Operation *each : ops)
    llvm::TypeSwitch<Operation *>(each)
        .Case([&](SelectOp op) { takeReluDerivative(rewriter, op); })
        .Case([&](GeluOp op) { takeGelu(rewriter, op); })
        .Case([&](GeluGradientOp op) { takeGeluGradient(rewriter, op); })
        .Case([&](ReduceOp op) { takeColumnSum(rewriter, op, roundedSums); })
        .Case([&](CastOp op) { takeInputCast(rewriter, op); });
}
