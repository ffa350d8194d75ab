// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Contractions round the inputs of the model that they multiply.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Conversion/MpcToLinalg/ProductParts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mpc/Analysis/FusionRemark.h"
#include "mpc/Analysis/Reshapes.h"

using namespace mlir;
using namespace mpc;

/// Whether the value is an input of the model, as it is or in another shape.
static bool isInput(Value value) {
  auto argument = dyn_cast<BlockArgument>(skipReshapes(value));
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  return function && function.getArgAttr(argument.getArgNumber(), MpcDialect::kInputAttr);
}

bool mpc::isInputCast(CastOp op) {
  Type type = elementTypeOf(op.getResult());
  return elementTypeOf(op.getInput()).isF32() && (type.isBF16() || type.isF16()) &&
         isInput(op.getInput());
}

/// Why not every use of the value can round by itself; empty when all can.
static StringRef obstacleOfCast(Value value) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (isReshape(user)) {
      if (StringRef obstacle = obstacleOfCast(user->getResult(0)); !obstacle.empty())
        return obstacle;
      continue;
    }
    if (isa<tensor::DimOp>(user))
      continue;
    auto contract = dyn_cast<mpcrt::ContractOp>(user);
    if (!contract || &use != &contract.getLhsMutable())
      return "it is not only multiplied from the left";
    if (getElementTypeOrSelf(contract.getRhs().getType()) != getElementTypeOrSelf(value.getType()))
      return "what it is multiplied with has another type";
    if (!isa<func::FuncOp>(contract->getParentOp()))
      return "a contraction runs in a loop";
  }
  return "";
}

/// Gives the users of `rounded` what it was rounded from, in the shapes that they had it in.
static void replaceUses(IRRewriter &rewriter, Value rounded, Value wide) {
  for (OpOperand &use : llvm::make_early_inc_range(rounded.getUses())) {
    Operation *user = use.getOwner();
    if (!isReshape(user)) {
      rewriter.modifyOpInPlace(user, [&] { use.set(wide); });
      continue;
    }
    rewriter.setInsertionPoint(user);
    Operation *reshape = rewriter.clone(*user);
    reshape->setOperand(0, wide);
    auto type = cast<RankedTensorType>(user->getResult(0).getType());
    reshape->getResult(0).setType(type.clone(getElementTypeOrSelf(wide.getType())));
    replaceUses(rewriter, user->getResult(0), reshape->getResult(0));
    rewriter.eraseOp(user);
  }
}

void mpc::takeInputCast(IRRewriter &rewriter, CastOp cast) {
  if (StringRef obstacle = obstacleOfCast(cast.getResult()); !obstacle.empty()) {
    remark::missed(cast.getLoc(), fusionRemark("input-cast"))
        << remark::reason("input rounded by a kernel: {0}", obstacle);
    return;
  }
  remark::passed(cast.getLoc(), fusionRemark("input-cast"))
      << "input rounded by the contractions that multiply it";
  replaceUses(rewriter, cast.getResult(), cast.getInput());
  rewriter.eraseOp(cast);
}
