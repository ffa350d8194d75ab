// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of metrics. Every state of every metric is a sum over batches, so a metric is what it
// adds and what its result makes of the sums.
#ifndef MPC_LIB_TRAINING_METRICS_H
#define MPC_LIB_TRAINING_METRICS_H

#include "lib/Training/Expression.h"
#include "lib/Training/KerasObject.h"
#include "mpc/Training/TrainingRules.h"
#include <functional>

namespace mpc {

/// One batch, as a metric sees it.
struct MetricInput {
  Expression &e;
  const KerasObject &metric;
  mlir::Value target;     // float32 in the prediction's shape, or int32 classes when `sparse`
  mlir::Value prediction; // float32
  bool sparse;
  mlir::Value weights; // float32 [batch], null for metrics without weights
  mlir::Value mask;    // i1, the Keras mask of the output; null when it has none
  const TrainingRules &rules;

  int64_t rank() { return tensorTypeOf(prediction).getRank(); }
};

/// One batch's part in a metric, and the metric's result.
struct MetricParts {
  struct State {
    std::string name;
    mlir::Value increment; // of static shape, float32 or float64
  };
  /// From the sums of the increments, in order; float32, a scalar or a vector.
  using Result = std::function<mlir::Value(Expression &, mlir::ValueRange)>;

  llvm::SmallVector<State> states = {}; // empty: the metric could not be built, see `problem`
  Result result = {};                   // null: the first state / the second
  bool root = false;                    // without `result`: the square root of that
  std::string problem = {};             // for a message, after the metric's name

  static MetricParts failure(const llvm::Twine &problem) {
    MetricParts parts;
    parts.problem = problem.str();
    return parts;
  }
};

struct MetricEntry {
  llvm::StringLiteral name;      // canonical
  llvm::StringLiteral arguments; // of the class's constructor beside Metric's own, spaces between
  MetricParts (*build)(MetricInput &input);
};

/// The families' tables.
llvm::ArrayRef<MetricEntry> accuracyMetrics();
llvm::ArrayRef<MetricEntry> confusionMetrics();
llvm::ArrayRef<MetricEntry> correlationMetrics();
llvm::ArrayRef<MetricEntry> intersectionMetrics();
llvm::ArrayRef<MetricEntry> scoreMetrics();

/// "accuracy" and "crossentropy" resolve by the shapes, as in keras/src/trainers/compile_utils.py;
/// every loss is a metric too.
MetricParts buildMetric(MetricInput &input);

/// Whether the metric compares class indices, so that an output without a loss gets such a target.
bool takesClasses(const KerasObject &metric);

/// keras.metrics.Mean of `values`, whose first dimension is the batch: sums of the weighted values
/// and of the weights (keras/src/metrics/reduction_metrics.py).
MetricParts meanOf(MetricInput &input, mlir::Value values, mlir::Value valuesMask = {});

/// keras.metrics.Mean of all elements that the calls of a layer AddMetric get, without weights.
MetricParts meanOfCalls(Expression &e, mlir::ValueRange calls);

/// Whether buildMetric knows the name, which is canonical.
bool isKnownMetric(llvm::StringRef name);

std::string supportedMetrics();

} // namespace mpc

#endif // MPC_LIB_TRAINING_METRICS_H
