// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// TracedModel: runs the entries of a model that report their values, beside their float32 twins.
#ifndef MPC_RUNTIME_REPORTS_TRACED_MODEL_H
#define MPC_RUNTIME_REPORTS_TRACED_MODEL_H

#include "mpc-rt/numerics.h"
#include "runtime/training/batcher.h"

#include <optional>
#include <utility>

namespace mpc::reports {

/// A value as all runs so far have seen it.
struct TracedValue {
  uint32_t slot = 0;
  std::string layer, op;
  uint32_t direction = 0; ///< mpc_rt_trace_direction_t
  mpc_rt_dtype_t dtype = MPC_RT_FLOAT32;
  bool isScaled = false;
  std::vector<uint32_t> sources; ///< slots
  mpc_rt_traced_value_t counts = {};
  std::vector<std::pair<int, uint64_t>> exponents; ///< elements by exponent, where there are any

  std::optional<double> ownError; ///< relativeError() with inputs of the layer as the twin has them
  bool wasNarrowed = false;       ///< the report has what a narrowing cast rounded

  /// Elements that rounding made 0; none where that is not known.
  std::optional<uint64_t> underflow() const;
  bool wasCompared() const { return counts.compared + counts.overflowed + counts.invalid > 0; }
  bool isFinite() const { return counts.infinite == 0 && counts.nan == 0; }
  /// The root mean square of the errors over that of the twin's value; 0 where that is 0, too.
  double relativeError() const;
};

const char *directionName(uint32_t direction);

/// All that the context's runs have seen since it was reset, in the order of execution.
std::vector<TracedValue> tracedValues(training::Session &session);
/// Elements that the last run kept, by slot; float32.
data::NamedArrays tracedElements(training::Session &session);

class TracedModel {
public:
  /// The model reports the training step, or inference. A Failure says how to compile a model that
  /// can.
  static data::Result<std::unique_ptr<TracedModel>> open(training::Session &session, bool trains);

  const mpc_rt_entry_info_t &entry() const { return traced_.entry(); }
  bool hasTwin() const { return twin_.has_value(); }
  /// Runs these rows, by the twin first. Changes no variable.
  data::Status run(const data::Dataset &data, const std::vector<int64_t> &rows);
  /// The same without the twin; the other one compares with the elements that are kept.
  data::Status runAlone(const data::Dataset &data, const std::vector<int64_t> &rows);
  data::Status compareAlone(const data::Dataset &data, const std::vector<int64_t> &rows);
  /// All that the runs since the last reset() have seen, in the order of execution.
  std::vector<TracedValue> values() const { return tracedValues(session_); }
  void reset();
  /// Keeps the elements of the traced entry after a run, not those of the twin.
  void keepElements() { keeps_ = true; }
  data::NamedArrays elements() const { return tracedElements(session_); }

  /// By slot, the relative errors that each layer makes with inputs from the twin; empty where the
  /// model cannot tell.
  data::Result<std::vector<double>> measureOwnErrors(const data::Dataset &data,
                                                     const std::vector<int64_t> &rows);
  /// By how much, relative to itself, each value of the twin changes when weights change by
  /// rounding errors: what changes as much as it is large is noise. By slot; empty without a twin.
  data::Result<std::vector<double>> measureNoise(const data::Dataset &data,
                                                 const std::vector<int64_t> &rows);

private:
  TracedModel(training::Session &session, const mpc_rt_entry_info_t &traced,
              const mpc_rt_entry_info_t *twin, const mpc_rt_entry_info_t *apart);
  std::vector<double> relativeErrors() const;
  data::Status runAs(uint32_t bits, training::Batcher &batcher, const data::Dataset &data,
                     const std::vector<int64_t> &rows);

  training::Session &session_;
  training::Batcher traced_;
  std::optional<training::Batcher> twin_, apart_;
  bool keeps_ = false;
};

} // namespace mpc::reports
#endif
