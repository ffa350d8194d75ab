// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading metrics and evaluating.
#include "training/metrics.h"

#include <charconv>
#include <cmath>
#include <numeric>

namespace mpc::training {

using data::Result;
using data::Status;

Result<Logs> readMetrics(Session &session) {
  Logs logs;
  const mpc_rt_executable_t &tables = session.executable();
  for (uint32_t i = 0; i < tables.metric_count; ++i) {
    double value = 0;
    if (mpc_rt_status_t status = mpc_rt_context_metric(session.context(), i, &value))
      return session.runtimeFailure(status);
    logs.emplace_back(tables.metrics[i].name, value);
  }
  return logs;
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

Result<Logs> evaluateRows(Session &session, Batcher &evaluate, const data::Dataset &data,
                          int64_t batchSize) {
  if (Status status = resetMetrics(session); !status)
    return status.failure();
  std::vector<int64_t> rows(static_cast<size_t>(std::min(batchSize, data.rows)));
  for (int64_t begin = 0; begin < data.rows; begin += batchSize) {
    int64_t count = std::min(batchSize, data.rows - begin);
    std::iota(rows.begin(), rows.end(), begin);
    if (Status status = evaluate.run(data, rows.data(), count); !status)
      return status.failure();
  }
  return readMetrics(session);
}

std::string formatReal(double value) {
  char text[40];
  auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return error == std::errc() ? std::string(text, end) : "nan";
}

std::string formatShort(double value) {
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
