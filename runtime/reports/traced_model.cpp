// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/reports/traced_model.h"
#include "runtime/reports/changed_weights.h"

#include <algorithm>
#include <cmath>

namespace mpc::reports {

using data::Failure;
using data::Result;
using data::Status;

double TracedValue::relativeError() const {
  if (counts.sum_of_squared_errors == 0)
    return 0;
  return std::sqrt(counts.sum_of_squared_errors / counts.kept_sum_of_squares);
}

std::optional<uint64_t> TracedValue::underflow() const {
  const bool isWide = dtype == MPC_RT_FLOAT32 || dtype == MPC_RT_FLOAT64; // nothing is rounded
  if (!wasNarrowed && !wasCompared() && !isWide)
    return std::nullopt;
  return std::max(counts.underflow, counts.lost);
}

const char *directionName(uint32_t direction) {
  static const char *const names[] = {"forward", "backward", "optimizer"};
  return names[std::min<uint32_t>(direction, MPC_RT_TRACE_OPTIMIZER)];
}

/// They lie between those of the smallest and of the largest element.
static std::vector<std::pair<int, uint64_t>> exponentsOf(const mpc_rt_traced_value_t &counts) {
  std::vector<std::pair<int, uint64_t>> exponents;
  if (counts.max_magnitude == 0)
    return exponents;
  const int first = std::ilogb(counts.min_magnitude), last = std::ilogb(counts.max_magnitude);
  exponents.reserve(static_cast<size_t>(last - first + 1));
  for (int exponent = first; exponent <= last; ++exponent)
    if (const uint64_t count = counts.exponents[exponent - MPC_RT_FIRST_EXPONENT])
      exponents.emplace_back(exponent, count);
  return exponents;
}

std::vector<TracedValue> tracedValues(training::Session &session) {
  std::vector<TracedValue> values;
  const uint32_t count = mpc_rt_context_traced_count(session.context());
  values.reserve(count);
  for (uint32_t slot = 0; slot < count; ++slot) {
    TracedValue value;
    value.slot = slot;
    value.counts.struct_size = sizeof value.counts;
    if (mpc_rt_context_traced_value(session.context(), slot, &value.counts) ||
        !value.counts.descriptor)
      continue;
    const mpc_rt_trace_t &descriptor = *value.counts.descriptor;
    value.layer = descriptor.layer;
    value.op = descriptor.op;
    value.direction = descriptor.direction;
    value.dtype = value.counts.dtype;
    value.wasNarrowed = descriptor.before_dtype != descriptor.dtype ||
                        value.dtype == MPC_RT_FLOAT8_E4M3FN || value.dtype == MPC_RT_FLOAT8_E5M2;
    value.isScaled = (descriptor.flags & MPC_RT_TRACE_SCALED) != 0;
    for (uint32_t i = 0; i < descriptor.source_count && i < MPC_RT_MAX_TRACE_SOURCES; ++i)
      value.sources.push_back(static_cast<uint32_t>(descriptor.sources[i]));
    value.exponents = exponentsOf(value.counts);
    value.counts.exponents = nullptr; // no longer than the next run
    values.push_back(std::move(value));
  }
  return values;
}

data::NamedArrays tracedElements(training::Session &session) {
  data::NamedArrays arrays;
  for (const TracedValue &value : tracedValues(session)) {
    uint64_t count = 0;
    const float *elements = mpc_rt_context_traced_elements(session.context(), value.slot, &count);
    if (elements)
      arrays.emplace("slot" + std::to_string(value.slot),
                     data::Array::copyOf(MPC_RT_FLOAT32, {static_cast<int64_t>(count)}, elements));
  }
  return arrays;
}

Result<std::unique_ptr<TracedModel>> TracedModel::open(training::Session &session, bool trains) {
  const mpc_rt_entry_info_t *traced = session.findEntry(trains ? "trace_step" : "trace_predict");
  if (!traced)
    return Failure(session.path() + ": cannot report its values; expected a model that was "
                                    "compiled for it; compile it with mpcc --numerics");
  return std::unique_ptr<TracedModel>(
      new TracedModel(session, *traced, session.findEntry(trains ? "twin_step" : "twin_predict"),
                      session.findEntry(trains ? "apart_step" : "apart_predict")));
}

TracedModel::TracedModel(training::Session &session, const mpc_rt_entry_info_t &traced,
                         const mpc_rt_entry_info_t *twin, const mpc_rt_entry_info_t *apart)
    : session_(session), traced_(session, traced) {
  if (twin)
    twin_.emplace(session, *twin);
  if (apart)
    apart_.emplace(session, *apart);
}

Status TracedModel::runAs(uint32_t bits, training::Batcher &batcher, const data::Dataset &data,
                          const std::vector<int64_t> &rows) {
  if (mpc_rt_status_t status = mpc_rt_context_trace(session_.context(), bits))
    return session_.runtimeFailure(status);
  Status done = batcher.run(data, rows);
  mpc_rt_context_trace(session_.context(), 0);
  return done;
}

Status TracedModel::run(const data::Dataset &data, const std::vector<int64_t> &rows) {
  const uint32_t kept = keeps_ ? MPC_RT_TRACE_KEEP : 0;
  if (!twin_)
    return runAs(MPC_RT_TRACE_STATISTICS | kept, traced_, data, rows);
  if (Status status = runAs(MPC_RT_TRACE_KEEP, *twin_, data, rows); !status)
    return status;
  return runAs(MPC_RT_TRACE_STATISTICS | MPC_RT_TRACE_COMPARE | kept, traced_, data, rows);
}

Status TracedModel::runAlone(const data::Dataset &data, const std::vector<int64_t> &rows) {
  return runAs(MPC_RT_TRACE_STATISTICS | (keeps_ ? MPC_RT_TRACE_KEEP : 0), traced_, data, rows);
}

Status TracedModel::compareAlone(const data::Dataset &data, const std::vector<int64_t> &rows) {
  return runAs(MPC_RT_TRACE_STATISTICS | MPC_RT_TRACE_COMPARE, traced_, data, rows);
}

void TracedModel::reset() { mpc_rt_context_reset_traced(session_.context()); }

std::vector<double> TracedModel::relativeErrors() const {
  std::vector<double> errors;
  for (const TracedValue &value : values()) {
    errors.resize(value.slot + 1);
    errors[value.slot] = value.relativeError();
  }
  return errors;
}

Result<std::vector<double>> TracedModel::measureOwnErrors(const data::Dataset &data,
                                                          const std::vector<int64_t> &rows) {
  if (!twin_ || !apart_)
    return std::vector<double>();
  reset();
  if (Status status = runAs(MPC_RT_TRACE_KEEP, *twin_, data, rows); !status)
    return status.failure();
  if (Status status = runAs(MPC_RT_TRACE_STATISTICS | MPC_RT_TRACE_COMPARE, *apart_, data, rows);
      !status)
    return status.failure();
  std::vector<double> errors = relativeErrors();
  reset();
  return errors;
}

Result<std::vector<double>> TracedModel::measureNoise(const data::Dataset &data,
                                                      const std::vector<int64_t> &rows) {
  std::vector<double> noise;
  if (!twin_)
    return noise;
  reset();
  Status status = runAs(MPC_RT_TRACE_KEEP, *twin_, data, rows);
  if (status) {
    ChangedWeights changed(session_);
    status = changed.apply();
    if (status)
      status = runAs(MPC_RT_TRACE_STATISTICS | MPC_RT_TRACE_COMPARE, *twin_, data, rows);
    if (Status back = changed.restore(); status && !back)
      status = back;
  }
  if (!status)
    return status.failure();
  noise = relativeErrors();
  reset();
  return noise;
}

} // namespace mpc::reports
