// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Running totals and their results.
#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/execution/context.h"

#include <cmath>
#include <cstring>
#include <vector>

using namespace mpc::rt;

namespace {

bool readScalar(const mpc_rt_context_t &context, uint32_t variable, double &value) {
  if (context.driver->deviceMemory().fetchVariables(context.layout.offsets[variable],
                                                    context.layout.sizes[variable]))
    return false;
  const void *data = context.variables[variable];
  if (context.layout.sizes[variable] <
      dtypeSize(context.executable().variables[variable].tensor.dtype))
    return false;
  switch (context.executable().variables[variable].tensor.dtype) {
  case MPC_RT_FLOAT32:
    value = static_cast<double>(*static_cast<const float *>(data));
    return true;
  case MPC_RT_FLOAT64:
    value = *static_cast<const double *>(data);
    return true;
  case MPC_RT_INT32:
    value = *static_cast<const int32_t *>(data);
    return true;
  case MPC_RT_INT64:
    value = static_cast<double>(*static_cast<const int64_t *>(data));
    return true;
  default:
    return false;
  }
}

/// The result that the entry "metric_results" computes, a scalar.
mpc_rt_status_t computeResult(mpc_rt_context_t &context, const mpc_rt_metric_info_t &info,
                              double &value) {
  auto &executable = context.executable();
  MetricResult result = findMetricResult(executable, info.name);
  if (result.tensor->rank != 0)
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: metric '%s' is a vector of %lld; run the entry 'metric_results' for it",
                executable.model_name, info.name,
                static_cast<long long>(tensorBytes(*result.tensor) / sizeof(float)));
  auto &entry = executable.entries[result.entry];
  std::vector<std::vector<float>> buffers(entry.output_count);
  std::vector<void *> outputs;
  for (uint32_t i = 0; i < entry.output_count; ++i) {
    buffers[i].resize(tensorBytes(entry.outputs[i]) / sizeof(float) + 1);
    outputs.push_back(buffers[i].data());
  }
  if (auto status = mpc_rt_context_run(&context, result.entry, nullptr, outputs.data(), 1))
    return status;
  value = static_cast<double>(buffers[result.output][0]);
  return MPC_RT_OK;
}

} // namespace

extern "C" {

mpc_rt_status_t mpc_rt_context_reset_metrics(mpc_rt_context_t *context) {
  if (!context)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_reset_metrics: context is null");
  auto &block = context->layout.roles[MPC_RT_ROLE_METRIC];
  if (!block.bytes)
    return MPC_RT_OK;
  std::memset(context->variableArena.data() + block.offset, 0, block.bytes);
  return context->driver->deviceMemory().storeVariables(block.offset, block.bytes);
}

mpc_rt_status_t mpc_rt_context_metric(mpc_rt_context_t *context, uint32_t metric, double *value) {
  if (!context || !value)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_metric: context or value is null");
  auto &executable = context->executable();
  if (metric >= executable.metric_count)
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: no metric %u; the model has %u",
                executable.model_name, metric, executable.metric_count);
  auto &info = executable.metrics[metric];
  if (info.kind == 2)
    return guard(info.name, [&] { return computeResult(*context, info, *value); });
  double total = 0, count = 0;
  if (!readScalar(*context, info.states[0], total) || !readScalar(*context, info.states[1], count))
    return fail(MPC_RT_DATA_LOSS,
                "%s: metric '%s' has totals of an unexpected type; compile the model again",
                executable.model_name, info.name);
  // Keras divides in float32 (ops.divide_no_nan on the metric's variables).
  double mean =
      count == 0 ? 0 : static_cast<double>(static_cast<float>(total) / static_cast<float>(count));
  *value = info.kind == 1 ? std::sqrt(mean) : mean;
  return MPC_RT_OK;
}

} // extern "C"
