// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of metrics.
#ifndef MPC_LIB_TRAINING_METRICS_H
#define MPC_LIB_TRAINING_METRICS_H

#include "lib/Training/Expression.h"
#include "lib/Training/KerasObject.h"

namespace mpc {

/// The value of a mean metric for each sample; float32. Null when the metric is not known or does
/// not fit the target.
struct SampleMetric {
  mlir::Value values;
  /// Square root of the mean (RootMeanSquaredError).
  bool root = false;
};

/// `sparse`: the target holds class indices. "accuracy" and "crossentropy" resolve by the shapes,
/// as in keras/src/trainers/compile_utils.py.
SampleMetric buildMetric(Expression &e, const KerasObject &metric, mlir::Value target,
                         mlir::Value prediction, bool sparse);

std::string supportedMetrics();

} // namespace mpc

#endif // MPC_LIB_TRAINING_METRICS_H
