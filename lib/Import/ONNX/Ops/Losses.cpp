// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ONNX's losses of classes, with float32 or wider sums, rounded once.
#include "lib/Import/Common/Shape.h"
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/LastAxis.h"

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;

/// Scores [batch, classes, …] with the classes last, and integer labels [batch, …].
struct Classified {
  Value scores, labels;
  LastAxis order;
};

std::optional<Classified> read(B &b) {
  Value scores = b.get(0), labels = b.get(1);
  if (!scores || !labels)
    return std::nullopt;
  const int64_t rank = b.rankOf(scores);
  llvm::SmallVector<int64_t> expected(b.shapeOf(scores));
  if (rank >= 2)
    expected.erase(expected.begin() + 1);
  if (rank < 2 || b.isFloat(labels) || b.shapeOf(labels) != llvm::ArrayRef(expected)) {
    b.error("takes scores [batch, classes, …] and integer labels [batch, …]; the shapes are " +
            printShape(b.shapeOf(scores)) + " and " + printShape(b.shapeOf(labels)));
    return std::nullopt;
  }
  const LastAxis order(1, rank);
  return Classified{order.move(b, scores), labels, order};
}

/// -weight[label] * logProbability[label] where the label is not the ignored one, else 0; reduced.
Value reduceLoss(B &b, Value logProbabilities, Value labels, unsigned weightInput) {
  const int64_t rank = b.rankOf(logProbabilities);
  llvm::SmallVector<int64_t> column(b.shapeOf(labels)), shape(b.shapeOf(labels));
  column.push_back(1);
  Value own = b.make<GatherOp>(logProbabilities, b.makeReshape(labels, column), rank - 1, rank - 1);
  Value loss = b.make<NegateOp>(b.makeReshape(own, shape));
  Value weights;
  if (b.has(weightInput)) {
    Value table = b.get(weightInput);
    if (!table)
      return {};
    if (b.rankOf(table) != 1 || b.shapeOf(table).front() != b.shapeOf(logProbabilities).back())
      return b.error("needs one weight for each class");
    weights = b.make<GatherOp>(table, labels, int64_t(0), int64_t(0));
    weights = b.makeCastLike(weights, weights, /*wide=*/true);
    loss = b.make<MultiplyOp>(loss, weights);
  }
  if (b.attributes.has("ignore_index")) {
    Value ignored = b.makeCompare(
        ComparePredicate::EQ, labels,
        b.makeInteger(elementTypeOf(labels), b.attributes.getInteger("ignore_index", 0)));
    Value zero = b.makeConstant(0.0);
    weights = b.makeSelect(ignored, zero, weights ? weights : b.makeConstant(1.0));
    // An ignored label need not be a class: what stands there counts as nothing.
    loss = b.makeSelect(ignored, zero, loss);
  }
  const llvm::StringRef reduction = b.attributes.getText("reduction", "mean");
  if (reduction == "none")
    return loss;
  if (reduction != "mean" && reduction != "sum")
    return b.error("the reduction '" + reduction + "'; expected none, sum or mean");
  const auto axes = llvm::to_vector(llvm::seq<int64_t>(0, rank - 1));
  if (reduction == "mean" && !weights)
    return b.makeReduce(ReduceKind::Mean, loss, axes, /*keepDims=*/false);
  Value sum = b.makeReduce(ReduceKind::Sum, loss, axes, /*keepDims=*/false);
  if (reduction == "sum")
    return sum;
  return b.make<DivideOp>(sum, b.makeReduce(ReduceKind::Sum, weights, axes, /*keepDims=*/false));
}

Value widen(B &b, Value x) { return b.makeCastLike(x, x, /*wide=*/true); }

void negativeLogLikelihoodLoss(B &b) {
  std::optional<Classified> given = read(b);
  if (!given)
    return;
  if (Value loss = reduceLoss(b, widen(b, given->scores), given->labels, 2))
    b.setResult(0, b.makeCastLike(loss, b.get(0)));
}

void softmaxCrossEntropyLoss(B &b) {
  std::optional<Classified> given = read(b);
  if (!given)
    return;
  const int64_t last = b.rankOf(given->scores) - 1;
  Value logProbabilities = b.make<LogSoftmaxOp>(widen(b, given->scores), last);
  Value loss = reduceLoss(b, logProbabilities, given->labels, 2);
  if (!loss)
    return;
  b.setResult(0, b.makeCastLike(loss, b.get(0)));
  b.setResult(1, b.makeCastLike(given->order.restore(b, logProbabilities), b.get(0)));
}

constexpr OpEntry kTable[] = {
    {"NegativeLogLikelihoodLoss", 12, negativeLogLikelihoodLoss},
    {"SoftmaxCrossEntropyLoss", 12, softmaxCrossEntropyLoss},
};

} // namespace

llvm::ArrayRef<OpEntry> getLossOps() { return kTable; }

} // namespace mpc::onnx
