// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Intersection over union (keras/src/metrics/iou_metrics.py). Keras counts in int64; float64 counts
// as exactly, up to 2^53.
#include "lib/Training/Losses.h"
#include "lib/Training/Metrics.h"

using namespace mlir;
using namespace mpc;

namespace {
struct Intersection {
  int64_t classes;
  SmallVector<double> ids; // whose mean is taken
  bool sparseTarget, sparsePrediction;
  std::optional<double> threshold; // BinaryIoU
};
} // namespace

/// Whole numbers below `classes` as rows of a float64 matrix; anything else is a row of zeros.
static Value rowsOf(Expression &e, Value values, int64_t classes) {
  Type i64 = e.builder.getI64Type();
  Value indices = e.cast(values, i64);
  SmallVector<int64_t> shape(tensorTypeOf(indices).getShape());
  shape.push_back(classes);
  return OneHotOp::create(e.builder, e.loc, RankedTensorType::get(shape, e.builder.getF64Type()),
                          indices);
}

/// The share of the union that is common, averaged over `ids`.
static MetricParts::Result meanShare(const Intersection &kind) {
  SmallVector<double> times(kind.classes, 0); // how often a class is asked for
  for (double id : kind.ids)
    times[size_t(id)] += 1;
  SmallVector<double> diagonal(kind.classes * kind.classes, 0);
  for (int64_t i = 0; i < kind.classes; ++i)
    diagonal[i * kind.classes + i] = 1;
  return [times, diagonal, classes = kind.classes](Expression &e, ValueRange states) -> Value {
    Value matrix = states[0], zero = e.constant(0);
    Type wide = elementTypeOf(matrix);
    Value common =
        e.reduce(ReduceKind::Sum,
                 e.mul(matrix, e.cast(e.constants(diagonal, {classes, classes}), wide)), {1});
    Value all =
        e.sub(e.add(e.reduce(ReduceKind::Sum, matrix, {0}), e.reduce(ReduceKind::Sum, matrix, {1})),
              common);
    Value asked = e.constants(times);
    Value divisor = e.toFloat(all);
    Value isSeen = e.compare(ComparePredicate::GT, divisor, e.constant(1e-9));
    Value epsilon = e.constant(kEpsilon);
    Value share = e.select(isSeen, e.div(e.toFloat(common), e.add(divisor, epsilon)), zero);
    Value count = e.reduceAll(ReduceKind::Sum, e.select(isSeen, asked, zero));
    return e.div(e.reduceAll(ReduceKind::Sum, e.mul(share, asked)), e.add(count, epsilon));
  };
}

static MetricParts intersection(MetricInput &in, Intersection kind) {
  Expression &e = in.e;
  if (kind.classes < 1 || kind.classes > 65536 || kind.ids.empty() ||
      llvm::any_of(kind.ids, [&](double id) {
        return id < 0 || id != double(int64_t(id)) || id >= double(kind.classes);
      }))
    return MetricParts::failure("needs num_classes and target_class_ids below it");
  if (in.sparse && !kind.sparseTarget)
    return MetricParts::failure("needs one-hot targets");
  int64_t axis = in.metric.optionalInteger("axis").value_or(-1);
  axis = axis < 0 ? axis + in.rank() : axis;
  if (axis < 0 || axis >= in.rank() || (axis == 0 && !(kind.sparseTarget && kind.sparsePrediction)))
    return MetricParts::failure("has an axis that the output does not have");
  Value prediction = in.prediction, target = in.target;
  if (kind.threshold)
    prediction =
        e.toFloat(e.compare(ComparePredicate::GE, prediction, e.constant(*kind.threshold)));
  if (!kind.sparsePrediction)
    prediction = e.argmax(prediction, axis);
  if (!kind.sparseTarget)
    target = e.argmax(target, axis);
  if (tensorTypeOf(prediction).getShape() != tensorTypeOf(target).getShape())
    return MetricParts::failure("compares a target of shape " +
                                Twine(tensorTypeOf(target).getRank()) + "-d with an output of " +
                                Twine(tensorTypeOf(prediction).getRank()) + "-d");
  Value rows = rowsOf(e, target, kind.classes), columns = rowsOf(e, prediction, kind.classes);
  Type wide = elementTypeOf(rows);
  int64_t rank = tensorTypeOf(target).getRank();
  auto weigh = [&](Value weights) {
    rows = e.mul(rows, e.expandTo(e.cast(weights, wide), rank + 1));
  };
  if (in.weights) {
    StringRef dtype = in.metric.string("dtype", "int");
    // Keras casts weights to the metric's integers.
    weigh(dtype.starts_with("int") || dtype.starts_with("uint")
              ? e.cast(in.weights, e.builder.getI64Type())
              : in.weights);
  }
  if (auto ignored = in.metric.optionalNumber("ignore_class")) {
    Value index = e.cast(target, e.builder.getI64Type());
    weigh(e.compare(ComparePredicate::NE, index,
                    scalarConstant(e.builder, e.loc, e.builder.getI64Type(), *ignored)));
  }
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  MetricParts parts;
  parts.states = {
      {"total_confusion_matrix", ContractOp::create(e.builder, e.loc, rows, columns, all, all)}};
  parts.result = meanShare(kind);
  return parts;
}

static Intersection kindOf(MetricInput &in, bool oneHot, bool mean) {
  Intersection kind{in.metric.optionalInteger("num_classes").value_or(0),
                    in.metric.numbers("target_class_ids"),
                    !oneHot && in.metric.boolean("sparse_y_true", true),
                    in.metric.boolean("sparse_y_pred", !oneHot), std::nullopt};
  if (mean && kind.classes > 0 && kind.classes <= 65536) {
    kind.ids.clear();
    for (int64_t i = 0; i < kind.classes; ++i)
      kind.ids.push_back(double(i));
  }
  return kind;
}

static MetricParts iou(MetricInput &in) { return intersection(in, kindOf(in, false, false)); }
static MetricParts meanIoU(MetricInput &in) { return intersection(in, kindOf(in, false, true)); }
static MetricParts oneHotIoU(MetricInput &in) { return intersection(in, kindOf(in, true, false)); }
static MetricParts oneHotMeanIoU(MetricInput &in) {
  return intersection(in, kindOf(in, true, true));
}
static MetricParts binaryIoU(MetricInput &in) {
  SmallVector<double> ids = in.metric.numbers("target_class_ids");
  if (ids.empty())
    ids = {0, 1};
  return intersection(in, {2, ids, true, true, in.metric.number("threshold", 0.5)});
}

ArrayRef<MetricEntry> mpc::intersectionMetrics() {
  static const MetricEntry table[] = {
      {"binary_io_u", "target_class_ids threshold", binaryIoU},
      {"io_u", "axis ignore_class num_classes sparse_y_pred sparse_y_true target_class_ids", iou},
      {"mean_io_u", "axis ignore_class num_classes sparse_y_pred sparse_y_true", meanIoU},
      {"one_hot_io_u", "axis ignore_class num_classes sparse_y_pred target_class_ids", oneHotIoU},
      {"one_hot_mean_io_u", "axis ignore_class num_classes sparse_y_pred", oneHotMeanIoU}};
  return table;
}
