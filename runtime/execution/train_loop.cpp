// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The custom training loop. Unscaling is done here and not by compiled code: it must work in place
// on buffers that callers may have changed.
#include "runtime/execution/train_loop.h"
#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/execution/context.h"
#include "runtime/execution/gradient_arithmetic.h"
#include "runtime/module/optimizer_scalar.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt {
namespace {

constexpr char gradientPrefix[] = "grad:", keptPrefix[] = "kept:", partPrefix[] = "part:";

bool startsWith(const char *text, const char *prefix) {
  return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

const mpc_rt_entry_info_t *findEntry(const mpc_rt_executable_t &executable, const char *name) {
  for (uint32_t i = 0; i < executable.entry_count; ++i)
    if (std::strcmp(executable.entries[i].name, name) == 0)
      return &executable.entries[i];
  return nullptr;
}

} // namespace

std::vector<GradientEntry> findGradients(const mpc_rt_executable_t &executable) {
  std::vector<GradientEntry> found;
  const mpc_rt_entry_info_t *backward = findEntry(executable, "train_backward");
  uint32_t next = 0;
  for (uint32_t i = 0; backward && i < backward->output_count; ++i) {
    const mpc_rt_tensor_info_t &tensor = backward->outputs[i];
    if (!startsWith(tensor.name, gradientPrefix))
      continue;
    const char *path = tensor.name + std::strlen(gradientPrefix);
    // In the variables' order: the next is nearly always the next.
    for (uint32_t tried = 0; tried < executable.variable_count; ++tried) {
      const uint32_t v = next++ % executable.variable_count;
      if (executable.variables[v].role != MPC_RT_ROLE_TRAINABLE ||
          std::strcmp(executable.variables[v].tensor.name, path) != 0)
        continue;
      found.push_back({&tensor, v});
      break;
    }
  }
  return found;
}

// Other tensors than the caller's are found by their names; a caller's one has the position
// `callers`, see bind().
TrainLoop::Location TrainLoop::locationOf(const mpc_rt_tensor_info_t &tensor, uint32_t callers) {
  const bool isPart = startsWith(tensor.name, partPrefix);
  if (isPart || startsWith(tensor.name, keptPrefix)) {
    for (uint32_t i = 0; i < keptTensors.size(); ++i)
      if (std::strcmp(keptTensors[i].tensor->name, tensor.name) == 0)
        return {Location::kept, i};
    keptTensors.push_back({&tensor, isPart, 0});
    return {Location::kept, static_cast<uint32_t>(keptTensors.size() - 1)};
  }
  for (uint32_t i = 0; i < gradients.size(); ++i)
    if (std::strcmp(gradients[i].tensor->name, tensor.name) == 0)
      return {Location::gradient, i};
  if (std::strcmp(tensor.name, "loss_scale") == 0)
    return {Location::scale, 0};
  if (std::strcmp(tensor.name, "learning_rate") == 0)
    return {Location::rate, 0};
  if (std::strcmp(tensor.name, "finite") == 0)
    return {Location::finite, 0};
  return {Location::caller, callers};
}

bool TrainLoop::bind(const mpc_rt_executable_t &executable, const char *name, Stage &stage) {
  const mpc_rt_entry_info_t *entry = findEntry(executable, name);
  if (!entry)
    return false;
  stage.entry = static_cast<uint32_t>(entry - executable.entries);
  auto locate = [&](const mpc_rt_tensor_info_t *tensors, uint32_t count, bool areCallers) {
    std::vector<Location> found;
    uint32_t callers = 0;
    for (uint32_t i = 0; i < count; ++i) {
      found.push_back(areCallers ? Location{Location::caller, callers}
                                 : locationOf(tensors[i], callers));
      callers += found.back().kind == Location::caller;
    }
    return found;
  };
  // All that the forward pass takes comes from the caller: users choose the names of the model's
  // inputs, which may be "loss_scale".
  const bool isForward = &stage == &stages[0];
  stage.inputs = locate(entry->inputs, entry->input_count, isForward);
  stage.outputs = locate(entry->outputs, entry->output_count, /*areCallers=*/false);
  stage.from.resize(entry->input_count);
  stage.to.resize(entry->output_count);
  return true;
}

mpc_rt_status_t TrainLoop::open(const mpc_rt_executable_t &executable) {
  model = executable.model_name;
  gradients = findGradients(executable);
  if (!bind(executable, "train_forward", stages[0]) ||
      !bind(executable, "train_backward", stages[1]) || !bind(executable, "train_apply", stages[2]))
    return fail(
        MPC_RT_FAILED_PRECONDITION,
        "%s: was compiled without training or with --custom-loop=off, or has nothing to train, or "
        "has "
        "float8 layers, which only the whole step trains; compile it with mpcc --mode=train "
        "--loss=... --optimizer=...",
        model);
  uint64_t end = 0, bytes = 0;
  for (const GradientEntry &gradient : gradients) {
    gradientOffsets.push_back(end);
    if (!batchBytes(*gradient.tensor, 0, bytes) ||
        __builtin_add_overflow(end, alignUp(bytes), &end))
      return fail(MPC_RT_DATA_LOSS, "%s: the gradients' sizes overflow; compile the model again",
                  model);
  }
  gradientOffsets.push_back(end);
  isDynamic = findOptimizerScalar(executable, OptimizerScalar::lossScale) >= 0;
  return MPC_RT_OK;
}

bool TrainLoop::keptBytes(int64_t rows, uint64_t &end) {
  uint64_t bytes = 0;
  end = 0;
  for (Kept &kept : keptTensors) {
    kept.offset = end;
    if (!batchBytes(*kept.tensor, rows, bytes) || __builtin_add_overflow(end, alignUp(bytes), &end))
      return false;
  }
  return true;
}

mpc_rt_status_t TrainLoop::layOutKept(int64_t rows) {
  uint64_t bytes = 0;
  if (!keptBytes(rows, bytes))
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: batch %lld overflows what the forward pass keeps",
                model, static_cast<long long>(rows));
  return keptMemory.reserve(bytes) ? MPC_RT_OK : failToAllocate(model, bytes, keptMemory.problem());
}

void *TrainLoop::ownGradient(const char *what, uint32_t index) {
  if (index >= gradients.size()) {
    (void)fail(MPC_RT_INVALID_ARGUMENT, "%s: no gradient %u; the model has %zu", what, index,
               gradients.size());
    return nullptr;
  }
  if (!gradientMemory.reserve(gradientBytes())) {
    (void)failToAllocate(what, gradientBytes(), gradientMemory.problem(), smallerModel);
    return nullptr;
  }
  return gradientMemory.data() + gradientOffsets[index];
}

mpc_rt_status_t TrainLoop::takeGradients(const char *what, void *const *given) {
  if (!given && !gradientMemory.reserve(gradientOffsets.back()))
    return failToAllocate(what, gradientBytes(), gradientMemory.problem(), smallerModel);
  current.resize(gradients.size());
  for (uint32_t i = 0; i < gradients.size(); ++i) {
    current[i] = given ? given[i] : gradientMemory.data() + gradientOffsets[i];
    if (!current[i])
      return fail(MPC_RT_INVALID_ARGUMENT, "%s: the buffer of gradient %u ('%s') is null", what, i,
                  gradients[i].tensor->name + std::strlen(gradientPrefix));
  }
  return MPC_RT_OK;
}

void *TrainLoop::address(Location location) {
  switch (location.kind) {
  case Location::kept:
    return keptMemory.data() + keptTensors[location.index].offset;
  case Location::gradient:
    return current[location.index];
  case Location::scale:
    return &scaleUsed;
  case Location::rate:
    return &rateUsed;
  case Location::finite:
    return &isFinite;
  case Location::caller:
    break;
  }
  return nullptr;
}

mpc_rt_status_t TrainLoop::run(mpc_rt_context_t &context, Stage &stage, const void *const *inputs,
                               void *const *outputs) {
  for (size_t i = 0; i < stage.inputs.size(); ++i)
    stage.from[i] = stage.inputs[i].kind == Location::caller ? inputs[stage.inputs[i].index]
                                                             : address(stage.inputs[i]);
  for (size_t i = 0; i < stage.outputs.size(); ++i)
    stage.to[i] = stage.outputs[i].kind == Location::caller ? outputs[stage.outputs[i].index]
                                                            : address(stage.outputs[i]);
  return mpc_rt_context_run(&context, stage.entry, stage.from.data(), stage.to.data(), batch);
}

mpc_rt_status_t TrainLoop::forward(mpc_rt_context_t &context, const void *const *inputs,
                                   void *const *outputs, int64_t rows) {
  if (!inputs || !outputs)
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: forward: the array of inputs or outputs is null",
                model);
  if (rows < 0)
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: forward: batch %lld; expected at least 0", model,
                static_cast<long long>(rows));
  next = Next::forward;
  if (auto status = layOutKept(rows))
    return status;
  batch = rows;
  if (auto status = run(context, stages[0], inputs, outputs))
    return status;
  next = Next::backward;
  return MPC_RT_OK;
}

mpc_rt_status_t TrainLoop::backward(mpc_rt_context_t &context, void *const *given) {
  if (next != Next::backward)
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: backward: nothing was kept for it; expected a call of forward before each",
                model);
  if (auto status = takeGradients("backward", given))
    return status;
  if (auto status = run(context, stages[1], nullptr, nullptr))
    return status;
  isScaled = isDynamic || scaleUsed != 1;
  next = Next::unscale;
  return MPC_RT_OK;
}

/// The parts of gradients that only the optimizer sees are divided with the others.
bool TrainLoop::divideAll(mpc_rt_context_t &context, float divisor) {
  bool finite = true;
  context.hostTeam.begin();
  auto divide = [&](const mpc_rt_tensor_info_t &tensor, void *data) {
    uint64_t bytes = 0;
    (void)batchBytes(tensor, batch, bytes); // was in range when memory was laid out
    finite &= divideGradient(context.hostTeam, tensor.dtype, data, bytes, isScaled, divisor);
  };
  for (uint32_t i = 0; i < gradients.size(); ++i)
    divide(*gradients[i].tensor, current[i]);
  for (const Kept &kept : keptTensors)
    if (kept.isGradient)
      divide(*kept.tensor, keptMemory.data() + kept.offset);
  context.hostTeam.end();
  return finite;
}

mpc_rt_status_t TrainLoop::unscale(mpc_rt_context_t &context, void *const *given, int32_t *finite) {
  if (next != Next::unscale)
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: unscale_gradients: there are no scaled gradients; expected a call of backward "
                "before it",
                model);
  if (auto status = takeGradients("unscale_gradients", given))
    return status;
  isFinite = divideAll(context, scaleUsed);
  if (finite)
    *finite = isFinite;
  next = Next::apply;
  return MPC_RT_OK;
}

mpc_rt_status_t TrainLoop::apply(mpc_rt_context_t &context, void *const *given,
                                 mpc_rt_applied_t *applied) {
  if (applied && applied->struct_size < sizeof(*applied))
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: apply_gradients: applied.struct_size is not set",
                model);
  // Without a scale there is nothing that unscaling would have changed.
  bool ready = next == Next::apply || (next == Next::unscale && !isScaled);
  if (!ready)
    return fail(
        MPC_RT_FAILED_PRECONDITION,
        "%s: apply_gradients: %s; expected forward, backward, unscale_gradients before it", model,
        next == Next::unscale ? "the gradients are still scaled" : "there are no gradients");
  if (auto status = takeGradients("apply_gradients", given))
    return status;
  // Callers may have changed the gradients since. A scale below 1 can make infinities of finite
  // gradients; those count as finite, as in the fused step.
  if (isDynamic && isFinite && scaleUsed >= 1)
    for (uint32_t i = 0; i < gradients.size() && isFinite; ++i) {
      uint64_t bytes = 0;
      (void)batchBytes(*gradients[i].tensor, batch, bytes);
      isFinite = areFinite(context.hostTeam, gradients[i].tensor->dtype, current[i], bytes);
    }
  const bool finite = isFinite;
  next = Next::forward;
  if (auto status = run(context, stages[2], nullptr, nullptr))
    return status;
  if (applied) {
    applied->applied = finite || !isDynamic;
    applied->learning_rate = rateUsed;
  }
  return MPC_RT_OK;
}

} // namespace mpc::rt
