// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-fuse-relu-masks: the derivative of relu in the contraction that produces the cotangent, by
// bits that the contraction with the relu leaves.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Transforms/ContractedMatrix.h"
#include "lib/Transforms/Fusion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mpc/Transforms/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_FUSERELUMASKS
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;
using linalg::GenericOp;

/// The tensor of which `condition` says where it is greater than 0; null for other conditions.
static Value positiveOf(Value condition) {
  auto op = condition.getDefiningOp<GenericOp>();
  Value yielded = yieldOfElements(op, 1);
  auto compare = yielded ? yielded.getDefiningOp<arith::CmpFOp>() : arith::CmpFOp();
  if (!compare || compare.getPredicate() != arith::CmpFPredicate::OGT ||
      !matchPattern(compare.getRhs(), m_AnyZeroFloat()))
    return {};
  Value compared = compare.getLhs();
  if (auto widened = compared.getDefiningOp<arith::ExtFOp>())
    compared = widened.getIn();
  return compared == op.getRegionInputArgs()[0] ? op.getDpsInputs()[0] : Value();
}

/// Whether the op is its second input where the first one, a condition, holds, and else 0.
static bool selectsOrZero(GenericOp op) {
  Value yielded = yieldOfElements(op, 2);
  auto select = yielded ? yielded.getDefiningOp<arith::SelectOp>() : arith::SelectOp();
  return select && select.getCondition() == op.getRegionInputArgs()[0] &&
         select.getTrueValue() == op.getRegionInputArgs()[1] &&
         matchPattern(select.getFalseValue(), m_PosZeroFloat());
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

static void fuseDerivative(IRRewriter &rewriter, GenericOp derivative) {
  auto [forward, _] = findMatrix(positiveOf(derivative.getDpsInputs()[0]));
  auto [backward, isOnlyUse] = findMatrix(derivative.getDpsInputs()[1]);
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
  rewriter.replaceOp(derivative, derivative.getDpsInputs()[1]);
}

namespace {
struct FuseReluMasksPass : mpc::impl::FuseReluMasksBase<FuseReluMasksPass> {
  void runOnModule() override {
    SmallVector<GenericOp> derivatives;
    getOperation().walk([&](GenericOp op) {
      if (selectsOrZero(op) && positiveOf(op.getDpsInputs()[0]))
        derivatives.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (GenericOp derivative : derivatives)
      fuseDerivative(rewriter, derivative);
  }
};
} // namespace
