// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recording steps.
#include "runtime/training/trace.h"

#include "runtime/data/convert.h"
#include "runtime/data/zip_writer.h"

#include <algorithm>
#include <cstring>

namespace mpc::training {

using data::Array;
using data::Result;
using data::Status;

Trace::Trace(Session &session) : session_(session), optimizer_(session) {
  const mpc_rt_executable_t &tables = session.executable();
  for (uint32_t i = 0; i < tables.variable_count; ++i) {
    if (tables.variables[i].role == MPC_RT_ROLE_TRAINABLE)
      trainable_.push_back(i);
    if (tables.variables[i].role == MPC_RT_ROLE_METRIC)
      metric_.push_back(i);
  }
  before_.resize(trainable_.size());
}

static void addTo(Array &total, const void *values) {
  int64_t count = total.elements();
  auto add = [&](auto sample) {
    using T = decltype(sample);
    const T *from = static_cast<const T *>(values);
    T *to = total.as<T>();
    for (int64_t i = 0; i < count; ++i)
      to[i] = static_cast<T>(to[i] + from[i]);
  };
  switch (total.dtype()) {
  case MPC_RT_FLOAT64:
    return add(double());
  case MPC_RT_INT32:
    return add(int32_t());
  case MPC_RT_INT64:
    return add(int64_t());
  default: // metrics are float32 (interface: accumulated in float32 or wider)
    return add(float());
  }
}

Status Trace::stepBegin() {
  for (size_t i = 0; i < trainable_.size(); ++i) {
    size_t bytes = 0;
    const uint8_t *data = static_cast<const uint8_t *>(
        mpc_rt_context_variable(session_.context(), trainable_[i], &bytes));
    before_[i].assign(data, data + bytes);
  }
  rateBefore_ = optimizer_.learningRate();
  if (totals_.empty()) // zeros, or what a checkpoint brought back
    for (uint32_t index : metric_)
      totals_.push_back(session_.variableArray(index));
  return resetMetrics(session_);
}

Status Trace::stepEnd(const Batcher &step) {
  if (const Array *loss = step.findOutput("loss"))
    loss_.push_back(*loss->as<float>());
  Result<std::vector<Measurement>> measurements = readMeasurements(session_);
  if (!measurements)
    return measurements.failure();
  for (const Measurement &measurement : *measurements) {
    if (measurement.name == "loss")
      continue;
    Series &series = metrics_[measurement.name];
    series.width = measurement.isVector ? static_cast<int64_t>(measurement.values.size()) : 0;
    for (double value : measurement.values)
      series.values.push_back(static_cast<float>(value));
  }
  if (const Array *rate = step.findOutput("learning_rate"))
    rate_.push_back(static_cast<float>(data::elementAsDouble(*rate, 0)));
  else if (rateBefore_)
    rate_.push_back(*rateBefore_);
  bool changed = false;
  for (size_t i = 0; i < trainable_.size(); ++i)
    changed |=
        !before_[i].empty() &&
        std::memcmp(before_[i].data(), session_.variable(trainable_[i]), before_[i].size()) != 0;
  changed_.push_back(changed);
  if (optimizer_.hasLossScale()) {
    scale_.push_back(optimizer_.dynamicScale().value_or(0));
    counter_.push_back(optimizer_.stepCounter().value_or(0));
    // The variable counts calls.
    const Array *calls = step.findOutput("accumulation_steps");
    const int64_t divisor =
        calls ? std::max<int64_t>(1, static_cast<int64_t>(data::elementAsDouble(*calls, 0))) : 1;
    iterations_.push_back(optimizer_.iterations().value_or(0) / divisor);
  }
  for (size_t i = 0; i < metric_.size(); ++i)
    addTo(totals_[i], session_.variable(metric_[i]));
  return Status();
}

void Trace::restoreTotals() {
  for (size_t i = 0; i < totals_.size(); ++i)
    if (totals_[i].bytes())
      std::memcpy(session_.variable(metric_[i]), totals_[i].data(), totals_[i].bytes());
  totals_.clear();
}

template <typename T>
static void put(data::NamedArrays &arrays, const std::string &name, mpc_rt_dtype_t dtype,
                const std::vector<T> &values) {
  if (!values.empty())
    arrays.emplace(name,
                   Array::copyOf(dtype, {static_cast<int64_t>(values.size())}, values.data()));
}

Status Trace::checkNames(const std::string &path) const {
  data::Failure failure;
  auto check = [&](const std::string &name) {
    if (Status status = data::checkMemberName(path, name + ".npy"); !status)
      failure.append(status.failure());
  };
  const mpc_rt_executable_t &tables = session_.executable();
  for (uint32_t i = 0; i < tables.metric_count; ++i)
    check(std::string("metric:") + tables.metrics[i].name);
  for (uint32_t i = 0; i < tables.variable_count; ++i) // under final: or opt:
    check(std::string("final:") + tables.variables[i].tensor.name);
  return failure;
}

data::NamedArrays Trace::arrays() {
  data::NamedArrays arrays;
  put(arrays, "loss", MPC_RT_FLOAT32, loss_);
  put(arrays, "learning_rate", MPC_RT_FLOAT32, rate_);
  put(arrays, "changed", MPC_RT_BOOL, changed_);
  put(arrays, "dynamic_scale", MPC_RT_FLOAT32, scale_);
  put(arrays, "step_counter", MPC_RT_INT64, counter_);
  put(arrays, "iterations", MPC_RT_INT64, iterations_);
  for (const auto &[name, series] : metrics_) {
    if (series.width == 0) {
      put(arrays, "metric:" + name, MPC_RT_FLOAT32, series.values);
      continue;
    }
    int64_t steps = static_cast<int64_t>(series.values.size()) / series.width;
    arrays.emplace("metric:" + name,
                   Array::copyOf(MPC_RT_FLOAT32, {steps, series.width}, series.values.data()));
  }
  const mpc_rt_executable_t &tables = session_.executable();
  for (uint32_t i = 0; i < tables.variable_count; ++i) {
    uint32_t role = tables.variables[i].role;
    std::string name = tables.variables[i].tensor.name;
    if (role == MPC_RT_ROLE_TRAINABLE || role == MPC_RT_ROLE_NON_TRAINABLE)
      arrays.emplace("final:" + name, session_.variableArray(i));
    else if (role == MPC_RT_ROLE_OPTIMIZER)
      arrays.emplace("opt:" + name, session_.variableArray(i));
  }
  return arrays;
}

} // namespace mpc::training
