// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading metrics and evaluating.
#include "runtime/training/metrics.h"

#include "runtime/data/convert.h"
#include "runtime/data/npz.h"
#include "runtime/data/variable_tensor.h"

#include <charconv>
#include <cmath>

namespace mpc::training {

using data::Array;
using data::Result;
using data::Status;

/// The outputs of the entry "metric_results" by name; empty when the model has no such entry.
static Result<data::NamedArrays> computeResults(Session &session) {
  data::NamedArrays arrays;
  const mpc_rt_executable_t &tables = session.executable();
  const mpc_rt_entry_info_t *entry = session.findEntry("metric_results");
  if (!entry)
    return arrays;
  std::vector<Array> results;
  std::vector<void *> outputs;
  for (uint32_t i = 0; i < entry->output_count; ++i) {
    Result<Array> result =
        Array::allocate(entry->outputs[i].dtype, data::dimsOf(entry->outputs[i], 0));
    if (!result)
      return result.failure();
    results.push_back(*result);
    outputs.push_back(results.back().data());
  }
  uint32_t index = static_cast<uint32_t>(entry - tables.entries);
  if (mpc_rt_status_t status =
          mpc_rt_context_run(session.context(), index, nullptr, outputs.data(), 1))
    return session.runtimeFailure(status);
  for (uint32_t i = 0; i < entry->output_count; ++i)
    arrays.emplace(entry->outputs[i].name, results[i]);
  return arrays;
}

Result<std::vector<Measurement>> readMeasurements(Session &session) {
  std::vector<Measurement> measurements;
  const mpc_rt_executable_t &tables = session.executable();
  Result<data::NamedArrays> computed = computeResults(session);
  if (!computed)
    return computed.failure();
  for (uint32_t i = 0; i < tables.metric_count; ++i) {
    Measurement measurement{tables.metrics[i].name, {}, false};
    auto result = computed->find(measurement.name);
    if (tables.metrics[i].kind == 2 && result != computed->end()) {
      for (int64_t j = 0; j < result->second.elements(); ++j)
        measurement.values.push_back(data::elementAsDouble(result->second, j));
      measurement.isVector = !result->second.dims().empty();
    } else {
      double value = 0;
      if (mpc_rt_status_t status = mpc_rt_context_metric(session.context(), i, &value))
        return session.runtimeFailure(status);
      measurement.values.push_back(value);
    }
    measurements.push_back(std::move(measurement));
  }
  return measurements;
}

Logs asLogs(const std::vector<Measurement> &measurements) {
  Logs logs;
  for (const Measurement &measurement : measurements)
    for (size_t i = 0; i < measurement.values.size(); ++i)
      logs.emplace_back(measurement.isVector ? measurement.name + "[" + std::to_string(i) + "]"
                                             : measurement.name,
                        measurement.values[i]);
  return logs;
}

Result<Logs> readMetrics(Session &session) {
  Result<std::vector<Measurement>> measurements = readMeasurements(session);
  if (!measurements)
    return measurements.failure();
  return asLogs(*measurements);
}

Status resetMetrics(Session &session) {
  if (mpc_rt_status_t status = mpc_rt_context_reset_metrics(session.context()))
    return session.runtimeFailure(status);
  return Status();
}

const double *findLog(const Logs &logs, const std::string &name) {
  for (const auto &[known, value] : logs)
    if (known == name)
      return &value;
  return nullptr;
}

Result<std::vector<Measurement>> evaluateRows(Session &session, Batcher &evaluate,
                                              const data::Dataset &data, int64_t batchSize) {
  if (Status status = resetMetrics(session); !status)
    return status.failure();
  if (Status status = evaluate.runAll(data, batchSize, /*full=*/false); !status)
    return status.failure();
  return readMeasurements(session);
}

KeptMetrics::KeptMetrics(Session &session) : session_(session) {
  const mpc_rt_executable_t &tables = session.executable();
  for (uint32_t i = 0; i < tables.variable_count; ++i)
    if (tables.variables[i].role == MPC_RT_ROLE_METRIC)
      values_.emplace_back(i, session.variableArray(i));
}

Status KeptMetrics::restore() {
  for (const auto &[index, value] : values_)
    if (mpc_rt_status_t status = mpc_rt_context_set_variable(
            session_.context(), index, value.dtype(), value.data(), value.bytes()))
      return session_.runtimeFailure(status);
  return Status();
}

std::string formatReal(double value) {
  if (std::isnan(value))
    return "nan"; // std::to_chars writes a sign, which says nothing
  char text[40];
  auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return error == std::errc() ? std::string(text, end) : "nan";
}

std::string formatShort(double value) {
  if (std::isnan(value))
    return "nan";
  char text[40];
  bool small = value != 0 && std::fabs(value) < 1e-3, large = std::fabs(value) >= 1e6;
  auto [end, error] =
      std::isfinite(value)
          ? std::to_chars(text, text + sizeof text, value,
                          small || large ? std::chars_format::scientific : std::chars_format::fixed,
                          4)
          : std::to_chars(text, text + sizeof text, value);
  return error == std::errc() ? std::string(text, end) : "?";
}

} // namespace mpc::training
