// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loss scale, learning rate and random states: variables under names of their own.
#include "mpc-rt/training.h"
#include "runtime/base/status.h"
#include "runtime/execution/context.h"

#include <cmath>
#include <cstring>

using namespace mpc::rt;

namespace {

constexpr char scalerPrefix[] = "loss_scale_optimizer/";

// Index of the optimizer variable whose name satisfies `wanted` and that has this dtype and bytes;
// -1 when there is none.
template <typename Predicate>
int64_t findOptimizerVariable(const mpc_rt_context_t &context, mpc_rt_dtype_t dtype, size_t bytes,
                              Predicate wanted) {
  auto &executable = context.executable();
  for (uint32_t i = 0; i < executable.variable_count; ++i) {
    auto &variable = executable.variables[i];
    if (variable.role == MPC_RT_ROLE_OPTIMIZER && wanted(variable.tensor.name) &&
        variable.tensor.dtype == dtype && context.layout.sizes[i] == bytes)
      return i;
  }
  return -1;
}

// Before the host looks at the optimizer's variables.
mpc_rt_status_t fetchOptimizer(mpc_rt_context_t &context) {
  auto &block = context.layout.roles[MPC_RT_ROLE_OPTIMIZER];
  return context.driver->fetchVariables(block.offset, block.bytes);
}

// After it wrote the variable at this address.
mpc_rt_status_t storeAt(mpc_rt_context_t &context, const void *address) {
  for (uint32_t i = 0; i < context.executable().variable_count; ++i)
    if (context.variables[i] == address && context.layout.sizes[i])
      return storeVariable(context, i);
  return MPC_RT_OK;
}

void *findScale(mpc_rt_context_t &context) {
  int64_t index =
      findOptimizerVariable(context, MPC_RT_FLOAT32, sizeof(float), [](const char *name) {
        return std::strcmp(name, "loss_scale_optimizer/dynamic_scale") == 0;
      });
  return index < 0 ? nullptr : context.variables[static_cast<size_t>(index)];
}

void *findCounter(mpc_rt_context_t &context) {
  int64_t index =
      findOptimizerVariable(context, MPC_RT_INT64, sizeof(int64_t), [](const char *name) {
        return std::strcmp(name, "loss_scale_optimizer/step_counter") == 0;
      });
  return index < 0 ? nullptr : context.variables[static_cast<size_t>(index)];
}

// The rate of the optimizer inside a LossScaleOptimizer, whose own is not used.
mpc_rt_status_t findRate(mpc_rt_context_t &context, float *&rate) {
  int64_t index =
      findOptimizerVariable(context, MPC_RT_FLOAT32, sizeof(float), [](const char *name) {
        const char *slash = std::strrchr(name, '/');
        return slash && std::strcmp(slash, "/learning_rate") == 0 &&
               std::strncmp(name, scalerPrefix, sizeof scalerPrefix - 1) != 0;
      });
  if (index < 0)
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: has no learning rate of its own; expected a model with an optimizer and "
                "without a schedule; compile it with --learning-rate=...",
                context.executable().model_name);
  rate = static_cast<float *>(context.variables[static_cast<size_t>(index)]);
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
  void *scale = findScale(*context), *counter = findCounter(*context);
  loss_scale->dynamic = scale && counter;
  loss_scale->scale = scale ? *static_cast<float *>(scale) : fixedLossScale(context->executable());
  loss_scale->reserved = 0;
  loss_scale->dynamic_counter = counter ? *static_cast<int64_t *>(counter) : 0;
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
  void *scale = findScale(*context), *counter = findCounter(*context);
  if (!scale || !counter)
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: has no dynamic loss scale; expected a model in mixed_float16; compile it with "
                "--loss-scale=dynamic:INITIAL:GROWTH_STEPS",
                context->executable().model_name);
  if (!(loss_scale->scale > 0) || !std::isfinite(loss_scale->scale) ||
      loss_scale->dynamic_counter < 0)
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: loss scale %g with counter %lld; expected a positive finite scale and a "
                "counter of at least 0",
                context->executable().model_name, static_cast<double>(loss_scale->scale),
                static_cast<long long>(loss_scale->dynamic_counter));
  *static_cast<float *>(scale) = loss_scale->scale;
  *static_cast<int64_t *>(counter) = loss_scale->dynamic_counter;
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
