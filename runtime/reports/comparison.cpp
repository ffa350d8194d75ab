// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/reports/comparison.h"
#include "mpc-rt/training.h"
#include "runtime/data/convert.h"
#include "runtime/reports/value_report.h"

#include <cmath>
#include <tuple>

namespace mpc::reports {

using data::Failure;
using data::Result;
using data::Status;

double ComparedValue::cosine() const {
  const mpc_rt_traced_value_t &counts = value.counts;
  const double lengths = std::sqrt(counts.sum_of_squares) * std::sqrt(counts.kept_sum_of_squares);
  if (lengths > 0)
    return counts.product_sum / lengths;
  return counts.sum_of_squares == counts.kept_sum_of_squares ? 1 : 0;
}

namespace {

/// Metrics and copies of weights are derived from the others.
bool isState(const mpc_rt_variable_info_t &variable) {
  return variable.role != MPC_RT_ROLE_METRIC && variable.role != MPC_RT_ROLE_SHADOW;
}

/// Layer, op and direction of a value, and which one of those of its layer it is.
using Name = std::tuple<std::string, std::string, uint32_t, size_t>;

std::map<Name, TracedValue> byName(const std::vector<TracedValue> &values) {
  std::map<Name, TracedValue> result;
  std::map<Name, size_t> ranks;
  for (const TracedValue &value : values) {
    if (value.op == "cast")
      continue;
    const size_t rank = ranks[{value.layer, value.op, value.direction, 0}]++;
    result.emplace(Name{value.layer, value.op, value.direction, rank}, value);
  }
  return result;
}

/// Values that the model reports, known after a run of these rows.
Result<std::map<Name, TracedValue>> namesOf(TracedModel &model, const data::Dataset &data,
                                            const std::vector<int64_t> &rows) {
  model.reset();
  model.keepElements();
  if (Status status = model.runAlone(data, rows); !status)
    return status.failure();
  return byName(model.values());
}

/// The factor of cotangents in a training step; 1 without loss scaling.
float lossScaleOf(training::Session &session) {
  mpc_rt_loss_scale_t scale = {};
  scale.struct_size = sizeof scale;
  return mpc_rt_context_get_loss_scale(session.context(), &scale) == MPC_RT_OK ? scale.scale : 1;
}

/// Whether the loss scale is in a value: it is in every cotangent, and out of gradients as the
/// optimizer takes them.
bool isScaled(const TracedValue &value) {
  return value.direction == MPC_RT_TRACE_BACKWARD && value.op.compare(0, 9, "gradient:") != 0;
}

} // namespace

Status copyVariables(training::Session &from, training::Session &to) {
  std::map<std::string, uint32_t> known;
  for (uint32_t i = 0; i < from.executable().variable_count; ++i)
    known[from.variableInfo(i).tensor.name] = i;
  Failure failure;
  for (uint32_t i = 0; i < to.executable().variable_count; ++i) {
    const mpc_rt_variable_info_t &variable = to.variableInfo(i);
    if (!isState(variable))
      continue;
    const auto found = known.find(variable.tensor.name);
    if (found == known.end()) {
      // One policy may have a loss scale and the other none.
      if (variable.role != MPC_RT_ROLE_OPTIMIZER)
        failure.append(Failure(to.path() + ":" + variable.tensor.name + ": is no variable of " +
                               from.path() + "; expected two forms of one model"));
      continue;
    }
    const data::Array source = from.variableArray(found->second);
    Result<data::Array> value =
        data::convertArray(source, variable.tensor.dtype, data::Conversion::Direct);
    mpc_rt_status_t status = MPC_RT_OK;
    if (value)
      status = mpc_rt_context_set_variable(to.context(), i, variable.tensor.dtype, value->data(),
                                           value->bytes());
    if (!value)
      failure.append(value.failure().within(to.path() + ":" + variable.tensor.name));
    else if (status)
      failure.append(to.runtimeFailure(status));
  }
  return failure.empty() ? Status() : Status(failure);
}

Result<std::vector<ComparedValue>> compareValues(training::Session &first,
                                                 training::Session &second, bool trains,
                                                 const data::Dataset &data,
                                                 const std::vector<int64_t> &rows) {
  Result<std::unique_ptr<TracedModel>> one = TracedModel::open(first, trains);
  if (!one)
    return one.failure();
  Result<std::unique_ptr<TracedModel>> other = TracedModel::open(second, trains);
  if (!other)
    return other.failure();
  Result<std::map<Name, TracedValue>> wanted = namesOf(**one, data, rows);
  if (!wanted)
    return wanted.failure();
  Result<std::map<Name, TracedValue>> own = namesOf(**other, data, rows);
  if (!own)
    return own.failure();
  const float scale = lossScaleOf(second) / lossScaleOf(first);
  std::map<uint32_t, std::string> dtypes; // of the first, by slot of the second
  for (const auto &[name, value] : *own) {
    const auto match = wanted->find(name);
    uint64_t count = 0;
    const float *elements =
        match == wanted->end()
            ? nullptr
            : mpc_rt_context_traced_elements(first.context(), match->second.slot, &count);
    if (!elements || match->second.counts.count != value.counts.count)
      continue;
    std::vector<float> expected(elements, elements + count);
    if (isScaled(value))
      for (float &element : expected)
        element *= scale;
    if (mpc_rt_status_t status =
            mpc_rt_context_expect_traced(second.context(), value.slot, expected.data(), count))
      return second.runtimeFailure(status);
    dtypes[value.slot] = dtypeName(match->second.dtype);
  }
  (*other)->reset();
  if (Status status = (*other)->compareAlone(data, rows); !status)
    return status.failure();
  std::vector<ComparedValue> result;
  for (const TracedValue &value : (*other)->values())
    if (const auto dtype = dtypes.find(value.slot); dtype != dtypes.end())
      result.push_back({value, dtype->second});
  Result<std::vector<double>> errors = (*other)->measureOwnErrors(data, rows);
  if (!errors)
    return errors.failure();
  for (ComparedValue &compared : result)
    if (compared.value.slot < errors->size())
      compared.value.ownError = (*errors)[compared.value.slot];
  return result;
}

} // namespace mpc::reports
