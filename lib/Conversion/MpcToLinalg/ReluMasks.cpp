// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The derivative of relu in the contraction that produces the cotangent, by bits that the
// contraction with the relu leaves.
#include "lib/Conversion/MpcToLinalg/ContractedMatrix.h"
#include "lib/Conversion/MpcToLinalg/ProductParts.h"
#include "mlir/IR/Matchers.h"
#include "mpc/Analysis/FusionRemark.h"

using namespace mlir;
using namespace mpc;

static ArrayRef<int64_t> shapeOf(Value value) { return tensorTypeOf(value).getShape(); }

/// The tensor of which `condition` says where it is greater than 0; null for other conditions.
static Value positiveOf(Value condition) {
  auto compare = condition.getDefiningOp<CompareOp>();
  return compare && compare.getPredicate() == ComparePredicate::GT &&
                 matchPattern(compare.getRhs(), m_AnyZeroFloat()) &&
                 shapeOf(compare.getLhs()) == shapeOf(condition)
             ? compare.getLhs()
             : Value();
}

bool mpc::isReluDerivative(SelectOp op) {
  return positiveOf(op.getCondition()) && matchPattern(op.getOnFalse(), m_PosZeroFloat()) &&
         shapeOf(op.getCondition()) == shapeOf(op) && op.getOnTrue().getType() == op.getType();
}

/// Why the contractions of relu's result and of its cotangent cannot share bits; empty when they
/// can.
static std::string findObstacle(mpcrt::ContractOp forward, mpcrt::ContractOp backward,
                                bool isOnlyUse) {
  using mpcrt::ContractPart;
  if (!forward || forward.getActivation() != Activation::Relu)
    return "relu is not in the epilogue of a contraction";
  if (!backward)
    return "the cotangent is not what a contraction writes";
  auto type = cast<RankedTensorType>(forward.getOut().getType());
  if (type.getShape() != cast<RankedTensorType>(backward.getOut().getType()).getShape())
    return "the two contractions have results of different shapes";
  if (!isOnlyUse)
    return "the cotangent has other uses";
  if (forward->getBlock() != backward->getBlock() ||
      !isa<FunctionOpInterface>(forward->getParentOp()))
    return "one of the contractions runs in a loop";
  if (!forward->isBeforeInBlock(backward))
    return "the contraction with the relu comes after the other one";
  if (!isOpenMatrix(forward) || !isOpenMatrix(backward))
    return "a contraction is not of one floating matrix of known width";
  // Bits that it makes already serve both.
  if (auto obstacle = forward.findObstacle(ContractPart::Mask);
      obstacle && *obstacle != ContractPart::Mask)
    return "the contraction with the relu " + describe(*obstacle).str();
  if (auto obstacle = backward.findObstacle(ContractPart::Where))
    return "the contraction that writes the cotangent " + describe(*obstacle).str();
  // Rows are padded to 128 bits.
  const int64_t bytes = type.getDimSize(1) * type.getElementTypeBitWidth() / 8;
  if (mpcrt::ContractOp::getMaskBytes(type.getDimSize(1)) >= bytes)
    return "rows of bits would be no shorter than rows of the result";
  return "";
}

void mpc::takeReluDerivative(IRRewriter &rewriter, SelectOp derivative) {
  auto [forward, _] = findMatrix(positiveOf(derivative.getCondition()));
  auto [backward, isOnlyUse] = findMatrix(derivative.getOnTrue());
  const std::string obstacle = findObstacle(forward, backward, isOnlyUse);
  if (!obstacle.empty()) {
    remark::missed(derivative.getLoc(), fusionRemark("relu-mask"))
        << remark::reason("derivative of relu not in a contraction: {0}", obstacle);
    return;
  }
  if (!forward.getMask()) {
    rewriter.setInsertionPoint(forward);
    auto type = cast<RankedTensorType>(forward.getOut().getType());
    SmallVector<OpFoldResult> extents{
        tensor::getMixedSize(rewriter, forward.getLoc(), forward.getOut(), 0),
        rewriter.getIndexAttr(mpcrt::ContractOp::getMaskBytes(type.getDimSize(1)))};
    mpcrt::ContractOp::Extras extras = forward.getExtras();
    extras.mask =
        tensor::EmptyOp::create(rewriter, forward.getLoc(), extents, rewriter.getI8Type());
    mpcrt::ContractOp masking = forward.cloneWith(rewriter, extras);
    rewriter.replaceOp(forward, masking.getResult(0));
    forward = masking;
  }
  rewriter.setInsertionPoint(backward);
  mpcrt::ContractOp::Extras extras = backward.getExtras();
  extras.where = forward.getMaskResult();
  rewriter.replaceOp(backward, backward.cloneWith(rewriter, extras).getResult(0));
  remark::passed(derivative.getLoc(), fusionRemark("relu-mask"))
      << "derivative of relu applied by the contraction that writes the cotangent";
  rewriter.replaceOp(derivative, derivative.getOnTrue());
}
