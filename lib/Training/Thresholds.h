// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Confusion counts of thresholded predictions, as keras/src/metrics/metrics_utils.py counts them.
#ifndef MPC_LIB_TRAINING_THRESHOLDS_H
#define MPC_LIB_TRAINING_THRESHOLDS_H

#include "lib/Training/Metrics.h"

namespace mpc {

/// Which predictions are positive at which threshold.
struct Thresholds {
  llvm::SmallVector<double> values;
  /// Keras sorts predictions into buckets between even thresholds instead of comparing.
  bool even = false;
  /// The ends are moved outside [0, 1] (AUC), so that 0 falls into the first bucket.
  bool widened = false;

  /// The config's `thresholds`, or `standard`; even as Keras finds them.
  static Thresholds parse(const KerasObject &metric, double standard);
  /// `count` even ones from 0 to 1.
  static Thresholds spread(int64_t count);
  /// Whether Keras calls them evenly distributed.
  static bool areEven(llvm::ArrayRef<double> values);
};

/// Sums over a batch for each threshold; vectors of thresholds, or matrices [thresholds, labels].
struct ConfusionCounts {
  mlir::Value truePositives, falsePositives, trueNegatives, falseNegatives;
  std::string problem; // why there are none

  /// All four under Keras's names.
  llvm::SmallVector<MetricParts::State> states() const;
};

/// The counts depend on these, besides the thresholds.
struct CountOptions {
  std::optional<int64_t> topK, classId;
  bool multiLabel = false;
  llvm::SmallVector<double> labelWeights = {}; // along the last dimension
};

ConfusionCounts countConfusion(MetricInput &input, const Thresholds &thresholds,
                               const CountOptions &options);

} // namespace mpc

#endif // MPC_LIB_TRAINING_THRESHOLDS_H
