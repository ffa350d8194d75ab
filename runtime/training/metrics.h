// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Metrics: the running results that a compiled model keeps in its variables.
#ifndef MPC_RUNTIME_TRAINING_METRICS_H
#define MPC_RUNTIME_TRAINING_METRICS_H

#include "runtime/training/batcher.h"

namespace mpc::training {

/// A metric's result: one number, or a vector (a score per class, a count per threshold).
struct Measurement {
  std::string name;
  std::vector<double> values;
  bool isVector = false;
};

/// The results since the last reset, in the model's order, the loss first.
data::Result<std::vector<Measurement>> readMeasurements(Session &session);

/// Names and values: what Keras calls logs. A vector `f` has the entries `f[0]`, `f[1]`, …
using Logs = std::vector<std::pair<std::string, double>>;

Logs asLogs(const std::vector<Measurement> &measurements);

/// The same as logs.
data::Result<Logs> readMetrics(Session &session);
data::Status resetMetrics(Session &session);

/// Null if there is no such name.
const double *findLog(const Logs &logs, const std::string &name);

/// Runs `evaluate` over all rows, in order, and returns the results. Leaves the metric variables
/// with these results, as Keras's evaluate does.
data::Result<std::vector<Measurement>> evaluateRows(Session &session, Batcher &evaluate,
                                                    const data::Dataset &data, int64_t batchSize);

/// The values of the metrics, to be put back: a validation replaces them.
class KeptMetrics {
public:
  explicit KeptMetrics(Session &session);
  data::Status restore();

private:
  Session &session_;
  std::vector<std::pair<uint32_t, data::Array>> values_; ///< by variable
};

/// Shortest decimal that reads back as the same double; `nan`, `inf`, `-inf`.
std::string formatReal(double value);
/// Four decimals, or an exponent where these would show nothing: `0.7987`, `3.2000e-05`.
std::string formatShort(double value);

} // namespace mpc::training
#endif
