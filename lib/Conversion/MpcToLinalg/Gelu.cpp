// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gelu in the contraction that gives its argument, its derivative in the one that gives the
// cotangent.
#include "lib/Conversion/MpcToLinalg/ContractedMatrix.h"
#include "lib/Conversion/MpcToLinalg/ProductParts.h"
#include "mpc/Analysis/FusionRemark.h"
#include "mpc/Analysis/Reshapes.h"

using namespace mlir;
using namespace mpc;

static bool isInLoop(mpcrt::ContractOp op) { return !isa<FunctionOpInterface>(op->getParentOp()); }

/// Why the contraction cannot do `wanted` besides; empty when it can.
static std::string obstacleOf(mpcrt::ContractOp contract, mpcrt::ContractPart wanted) {
  if (!isOpenMatrix(contract))
    return "the contraction is not of one floating matrix of known width";
  auto obstacle = contract.findObstacle(wanted);
  return obstacle ? "the contraction " + describe(*obstacle).str() : "";
}

static void miss(Operation *op, StringRef what, StringRef obstacle) {
  remark::missed(op->getLoc(), fusionRemark("gelu"))
      << remark::reason("{0} not in a contraction: {1}", what, obstacle);
}

/// `value` is `matrix` in another shape or a part of it: the same of `other`.
static Value inShapeOf(IRRewriter &rewriter, Value value, Value matrix, Value other) {
  if (value == matrix)
    return other;
  Operation *reshape = value.getDefiningOp();
  Value source = inShapeOf(rewriter, reshape->getOperand(0), matrix, other);
  rewriter.setInsertionPointAfter(reshape);
  IRMapping mapping;
  mapping.map(reshape->getOperand(0), source);
  return rewriter.clone(*reshape, mapping)->getResult(0);
}

void mpc::takeGelu(IRRewriter &rewriter, GeluOp gelu) {
  Value argument = gelu.getInput();
  auto [contract, isOnlyUse] = findMatrix(argument, /*inParts=*/true);
  std::string obstacle;
  if (!contract)
    obstacle = "its argument is not what a contraction writes";
  else if (isInLoop(contract))
    obstacle = "the contraction runs in a loop";
  else
    obstacle = obstacleOf(contract, mpcrt::ContractPart::Gelu);
  if (!obstacle.empty())
    return miss(gelu, "gelu", obstacle);
  rewriter.setInsertionPoint(contract);
  mpcrt::ContractOp::Extras extras = contract.getExtras();
  extras.gelu = true;
  // Other readers of the argument, as the derivative, find it beside.
  if (!isOnlyUse)
    extras.kept = contract.getOut();
  mpcrt::ContractOp merged = contract.cloneWith(rewriter, extras);
  remark::passed(gelu.getLoc(), fusionRemark("gelu"))
      << (isOnlyUse ? "gelu applied by the contraction that gives its argument"
                    : "gelu applied by the contraction that gives its argument, which is kept");
  if (isOnlyUse) {
    rewriter.replaceOp(contract, merged.getResult(0));
    rewriter.replaceOp(gelu, argument == contract.getResult(0) ? merged.getResult(0) : argument);
    return;
  }
  Value kept = merged.getKeptResult();
  if (argument == contract.getResult(0))
    argument = kept;
  rewriter.replaceOp(contract, kept);
  rewriter.replaceOp(gelu, inShapeOf(rewriter, argument, kept, merged.getResult(0)));
}

/// Where `cotangent` is `matrix` in another shape, or a part of it: what `argument` is the same of;
/// null where it is not made the same way.
static Value findCounterpart(Value argument, Value cotangent, Value matrix) {
  while (cotangent != matrix) {
    Operation *op = cotangent.getDefiningOp(), *other = argument.getDefiningOp();
    // Extents that are not attributes are the batch.
    if (!other || op->getName() != other->getName() ||
        op->getAttrDictionary() != other->getAttrDictionary() ||
        op->getOperandTypes() != other->getOperandTypes() ||
        op->getResultTypes() != other->getResultTypes())
      return {};
    cotangent = op->getOperand(0);
    argument = other->getOperand(0);
  }
  return argument.getType() == matrix.getType() ? argument : Value();
}

void mpc::takeGeluGradient(IRRewriter &rewriter, GeluGradientOp gradient) {
  Value cotangent = gradient.getCotangent();
  auto [contract, isOnlyUse] = findMatrix(cotangent, /*inParts=*/true);
  Value argument;
  std::string obstacle;
  if (!contract) {
    obstacle = "the cotangent is not what a contraction writes";
  } else if (!isOnlyUse) {
    obstacle = "the cotangent has other uses";
  } else if (isInLoop(contract)) {
    obstacle = "the contraction runs in a loop";
  } else if (obstacle = obstacleOf(contract, mpcrt::ContractPart::GeluGradient); obstacle.empty()) {
    argument = findCounterpart(gradient.getInput(), cotangent, contract.getResult(0));
    if (!argument || (argument.getDefiningOp() &&
                      (argument.getDefiningOp()->getBlock() != contract->getBlock() ||
                       !argument.getDefiningOp()->isBeforeInBlock(contract))))
      obstacle = "gelu's argument is not there as such a matrix";
  }
  if (!obstacle.empty())
    return miss(gradient, "derivative of gelu", obstacle);
  rewriter.setInsertionPoint(contract);
  mpcrt::ContractOp::Extras extras = contract.getExtras();
  extras.geluAt = argument;
  mpcrt::ContractOp merged = contract.cloneWith(rewriter, extras);
  remark::passed(gradient.getLoc(), fusionRemark("gelu"))
      << "derivative of gelu applied by the contraction that writes the cotangent";
  const bool isMatrix = cotangent == contract.getResult(0);
  rewriter.replaceOp(contract, merged.getResult(0));
  rewriter.replaceOp(gradient, isMatrix ? merged.getResult(0) : cotangent);
}
