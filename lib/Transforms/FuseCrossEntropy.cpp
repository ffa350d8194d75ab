// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Softmax and the logarithm that follows it, alone or on the way into a cross-entropy, in logit
// form.
#include "lib/Transforms/Fusion.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mpc;

static std::optional<double> scalarValue(Value value) {
  DenseElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)) || !elements.isSplat() ||
      !isa<FloatType>(elements.getElementType()))
    return std::nullopt;
  return elements.getSplatValue<APFloat>().convertToDouble();
}

/// Keras clips probabilities to [1e-7, 1 - 1e-7] before the logarithm
/// (keras/src/backend/tensorflow/nn.py). Limits farther inside would be a model's own and must
/// stay.
static bool isProbabilityLimit(Operation *op, double limit) {
  return isa<MaximumOp>(op) ? limit <= 1e-6 : limit >= 1 - 1e-6;
}

/// Steps over minimum and maximum with such a limit.
static Value skipClip(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<MaximumOp, MinimumOp>(op))
      return value;
    Value clipped;
    for (unsigned i : {0u, 1u})
      if (auto limit = scalarValue(op->getOperand(1 - i)))
        if (isProbabilityLimit(op, *limit) && op->getOperand(i).getType() == value.getType())
          clipped = op->getOperand(i);
    if (!clipped)
      return value;
    value = clipped;
  }
  return value;
}

/// Erases an op without uses, and what only it used.
static void eraseDead(IRRewriter &rewriter, Operation *op) {
  if (!op || !isOpTriviallyDead(op))
    return;
  SmallVector<Value> operands(op->getOperands());
  rewriter.eraseOp(op);
  for (Value operand : operands)
    eraseDead(rewriter, operand.getDefiningOp());
}

void mpc::fuseLogSoftmax(IRRewriter &rewriter, LogOp log) {
  auto softmax = log.getInput().getDefiningOp<SoftmaxOp>();
  if (!softmax)
    return;
  if (!log.getInput().hasOneUse()) {
    remark::missed(log.getLoc(), fusionRemark("log-softmax"))
        << "the probabilities have other uses";
    return;
  }
  rewriter.setInsertionPoint(log);
  rewriter.replaceOpWithNewOp<LogSoftmaxOp>(log, softmax.getType(), softmax.getInput(),
                                            softmax.getAxisAttr());
  remark::passed(softmax.getLoc(), fusionRemark("log-softmax")) << "log(softmax) is log_softmax";
  rewriter.eraseOp(softmax);
}

void mpc::fuseCrossEntropy(IRRewriter &rewriter, SoftmaxCrossEntropyOp loss) {
  auto log = loss.getLogits().getDefiningOp<LogOp>();
  if (!log)
    return;
  Value probabilities = skipClip(log.getInput());
  auto softmax = probabilities.getDefiningOp<SoftmaxOp>();
  if (!softmax)
    return;
  if (int64_t(softmax.getAxis()) != softmax.getType().getRank() - 1) {
    remark::missed(loss.getLoc(), fusionRemark("logit-cross-entropy"))
        << "the softmax is not along the last axis";
    return;
  }
  rewriter.modifyOpInPlace(loss, [&] { loss.getLogitsMutable().assign(softmax.getInput()); });
  remark::passed(loss.getLoc(), fusionRemark("logit-cross-entropy"))
      << "cross-entropy of logits: no clip";
  eraseDead(rewriter, log);
}
