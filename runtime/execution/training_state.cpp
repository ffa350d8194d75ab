// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loss scale, learning rate and random states.
#include "mpc-rt/training.h"
#include "runtime/base/status.h"
#include "runtime/execution/context.h"
#include "runtime/module/optimizer_scalar.h"
#include "runtime/module/restored_scale.h"

#include <cfloat>
#include <cmath>
#include <cstring>

using namespace mpc::rt;

namespace {

// Before the host looks at the optimizer's variables.
mpc_rt_status_t fetchOptimizer(mpc_rt_context_t &context) {
  auto &block = context.layout.roles[MPC_RT_ROLE_OPTIMIZER];
  return context.driver->deviceMemory().fetchVariables(block.offset, block.bytes);
}

// After it wrote the variable at this address.
mpc_rt_status_t storeAt(mpc_rt_context_t &context, const void *address) {
  for (uint32_t i = 0; i < context.executable().variable_count; ++i)
    if (context.variables[i] == address && context.layout.sizes[i])
      return storeVariable(context, i);
  return MPC_RT_OK;
}

// Null where there is none.
template <typename T> T *find(mpc_rt_context_t &context, OptimizerScalar wanted) {
  const int64_t index = findOptimizerScalar(context.executable(), wanted);
  return index < 0 ? nullptr : static_cast<T *>(context.variables[static_cast<size_t>(index)]);
}

float *findScale(mpc_rt_context_t &context) {
  return find<float>(context, OptimizerScalar::lossScale);
}

int64_t *findCounter(mpc_rt_context_t &context) {
  return find<int64_t>(context, OptimizerScalar::lossScaleCounter);
}

mpc_rt_status_t findRate(mpc_rt_context_t &context, float *&rate) {
  rate = find<float>(context, OptimizerScalar::learningRate);
  if (!rate)
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: has no learning rate of its own; expected a model with an optimizer and "
                "without a schedule; compile it with --learning-rate=...",
                context.executable().model_name);
  return fetchOptimizer(context);
}

} // namespace

extern "C" {

mpc_rt_status_t mpc_rt_context_get_loss_scale(mpc_rt_context_t *context,
                                              mpc_rt_loss_scale_t *loss_scale) {
  if (!context || !loss_scale || loss_scale->struct_size < sizeof(*loss_scale))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "mpc_rt_context_get_loss_scale: a null argument, or loss_scale.struct_size is not "
                "set");
  if (auto status = fetchOptimizer(*context))
    return status;
  float *scale = findScale(*context);
  int64_t *counter = findCounter(*context);
  loss_scale->dynamic = scale && counter;
  loss_scale->scale = scale ? *scale : fixedLossScale(context->executable());
  loss_scale->reserved = 0;
  loss_scale->dynamic_counter = counter ? *counter : 0;
  return MPC_RT_OK;
}

mpc_rt_status_t mpc_rt_context_set_loss_scale(mpc_rt_context_t *context,
                                              const mpc_rt_loss_scale_t *loss_scale) {
  if (!context || !loss_scale || loss_scale->struct_size < sizeof(*loss_scale))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "mpc_rt_context_set_loss_scale: a null argument, or loss_scale.struct_size is not "
                "set");
  if (auto status = fetchOptimizer(*context))
    return status;
  float *scale = findScale(*context);
  int64_t *counter = findCounter(*context);
  if (!scale || !counter)
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: has no dynamic loss scale; expected a model in mixed_float16; compile it with "
                "--loss-scale=dynamic:INITIAL:GROWTH_STEPS",
                context->executable().model_name);
  // Smaller ones are zero where gradients are divided by them.
  if (!(loss_scale->scale >= FLT_MIN) || !std::isfinite(loss_scale->scale) ||
      loss_scale->dynamic_counter < 0)
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: loss scale %g with counter %lld; expected a finite scale of at least 1.18e-38 "
                "and a counter of at least 0",
                context->executable().model_name, static_cast<double>(loss_scale->scale),
                static_cast<long long>(loss_scale->dynamic_counter));
  const int64_t index = findOptimizerScalar(context->executable(), OptimizerScalar::lossScale);
  if (auto status = guard("mpc_rt_context_set_loss_scale", [&]() -> mpc_rt_status_t {
        const std::string problem = findScaleOutOfBounds(
            context->executable(), static_cast<uint32_t>(index), &loss_scale->scale);
        return problem.empty() ? MPC_RT_OK
                               : fail(MPC_RT_INVALID_ARGUMENT, "%s: %s",
                                      context->executable().model_name, problem.c_str());
      }))
    return status;
  *scale = loss_scale->scale;
  *counter = loss_scale->dynamic_counter;
  auto status = storeAt(*context, scale);
  return status ? status : storeAt(*context, counter);
}

mpc_rt_status_t mpc_rt_context_get_learning_rate(mpc_rt_context_t *context, float *rate) {
  if (!context || !rate)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_get_learning_rate: a null argument");
  float *variable = nullptr;
  if (auto status = findRate(*context, variable))
    return status;
  *rate = *variable;
  return MPC_RT_OK;
}

mpc_rt_status_t mpc_rt_context_set_learning_rate(mpc_rt_context_t *context, float rate) {
  if (!context)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_set_learning_rate: context is null");
  if (!std::isfinite(rate))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: learning rate %g; expected a finite number, else the next step destroys the "
                "weights",
                context->executable().model_name, static_cast<double>(rate));
  float *variable = nullptr;
  if (auto status = findRate(*context, variable))
    return status;
  *variable = rate;
  return storeAt(*context, variable);
}

mpc_rt_status_t mpc_rt_context_get_random(mpc_rt_context_t *context, uint64_t *seed,
                                          uint64_t *counter) {
  if (!context || !seed || !counter)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_get_random: a null argument");
  *seed = *counter = 0;
  auto &executable = context->executable();
  for (uint32_t i = 0; i < executable.variable_count; ++i)
    if (executable.variables[i].role == MPC_RT_ROLE_RANDOM) {
      if (auto status = fetchVariable(*context, i))
        return status;
      std::memcpy(seed, context->variables[i], sizeof *seed);
      std::memcpy(counter, static_cast<uint64_t *>(context->variables[i]) + 1, sizeof *counter);
      break;
    }
  return MPC_RT_OK;
}

mpc_rt_status_t mpc_rt_context_set_random(mpc_rt_context_t *context, uint64_t seed,
                                          uint64_t counter) {
  if (!context)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_set_random: context is null");
  const uint64_t state[2] = {seed, counter};
  auto &executable = context->executable();
  for (uint32_t i = 0; i < executable.variable_count; ++i)
    if (executable.variables[i].role == MPC_RT_ROLE_RANDOM) {
      std::memcpy(context->variables[i], state, sizeof state);
      if (auto status = storeVariable(*context, i))
        return status;
    }
  return MPC_RT_OK;
}

} // extern "C"
