// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Access to variables, and their low-precision shadows.
#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/base/vector_kernels.h"
#include "runtime/execution/context.h"
#include "runtime/module/restored_scale.h"

#include <cstring>

using namespace mpc::rt;

namespace mpc::rt {

void refreshShadow(mpc_rt_context_t &context, uint32_t shadow) {
  auto &info = context.executable().variables[shadow];
  auto *from = static_cast<const float *>(context.variables[info.shadow_of]);
  auto *to = static_cast<uint16_t *>(context.variables[shadow]);
  auto &kernels = vectorKernels(context.isa);
  auto round = info.tensor.dtype == MPC_RT_BFLOAT16 ? kernels.roundBFloat16 : kernels.roundFloat16;
  auto count = static_cast<int64_t>(context.layout.sizes[shadow] / sizeof(uint16_t));
  context.hostTeam.forRange(count, 65536, [&](int64_t begin, int64_t end) {
    round(from + begin, to + begin, static_cast<size_t>(end - begin));
  });
}

mpc_rt_status_t fetchVariable(mpc_rt_context_t &context, uint32_t variable) {
  if (auto status = settleRanks(context))
    return status;
  if (auto status = checkWhole(context, variable))
    return status;
  if (auto status = readyVariable(context, variable))
    return status;
  return fetchForWriting(context, variable);
}

mpc_rt_status_t fetchForWriting(mpc_rt_context_t &context, uint32_t variable) {
  return context.driver->deviceMemory().fetchVariables(context.layout.offsets[variable],
                                                       context.layout.sizes[variable]);
}

mpc_rt_status_t storeVariable(mpc_rt_context_t &context, uint32_t variable) {
  return context.driver->deviceMemory().storeVariables(context.layout.offsets[variable],
                                                       context.layout.sizes[variable]);
}

mpc_rt_status_t refreshShadows(mpc_rt_context_t &context) {
  auto &executable = context.executable();
  for (uint32_t i = 0; i < executable.variable_count; ++i)
    if (executable.variables[i].role == MPC_RT_ROLE_SHADOW) {
      forgetShadow(context, i);
      if (auto status = readyVariable(context, i))
        return status;
    }
  return MPC_RT_OK;
}

} // namespace mpc::rt

namespace {

mpc_rt_status_t checkAccess(const char *what, const mpc_rt_context_t *context, uint32_t variable,
                            mpc_rt_dtype_t dtype, const void *data, size_t bytes) {
  if (!context)
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: context is null", what);
  auto &executable = context->executable();
  if (variable >= executable.variable_count)
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: no variable %u; the model has %u", what, variable,
                executable.variable_count);
  auto &tensor = executable.variables[variable].tensor;
  if (dtype != tensor.dtype)
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: dtype %s given; expected %s; convert it first",
                tensor.name, dtypeName(dtype), dtypeName(tensor.dtype));
  if (bytes != context->layout.sizes[variable])
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: %zu bytes given; expected %llu; pass the variable's whole shape", tensor.name,
                bytes, static_cast<unsigned long long>(context->layout.sizes[variable]));
  if (!data && bytes)
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: data is null", tensor.name);
  return MPC_RT_OK;
}

} // namespace

extern "C" {

void *mpc_rt_context_variable(mpc_rt_context_t *context, uint32_t variable, size_t *bytes) {
  if (!context || variable >= context->variables.size())
    return nullptr;
  if (checkWhole(*context, variable) || exposeVariable(*context, variable) ||
      fetchVariable(*context, variable))
    return nullptr;
  if (bytes)
    *bytes = context->layout.sizes[variable];
  return context->variables[variable];
}

mpc_rt_status_t mpc_rt_context_set_variable(mpc_rt_context_t *context, uint32_t variable,
                                            mpc_rt_dtype_t dtype, const void *data, size_t bytes) {
  if (auto status =
          checkAccess("mpc_rt_context_set_variable", context, variable, dtype, data, bytes))
    return status;
  ContextUse use(&context->user, "mpc_rt_context_set_variable");
  if (use.status())
    return use.status();
  auto &executable = context->executable();
  if (executable.variables[variable].role == MPC_RT_ROLE_SHADOW)
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: a shadow is derived from its variable; set that variable instead",
                executable.variables[variable].tensor.name);
  if (auto status = guard("mpc_rt_context_set_variable", [&]() -> mpc_rt_status_t {
        const std::string problem = findScaleOutOfBounds(executable, variable, data);
        return problem.empty() ? MPC_RT_OK
                               : fail(MPC_RT_INVALID_ARGUMENT, "%s: %s",
                                      executable.variables[variable].tensor.name, problem.c_str());
      }))
    return status;
  if (auto status = settleRanks(*context))
    return status;
  replaceVariable(*context, variable);
  if (bytes && data != context->variables[variable]) // it may be the variable's own memory
    std::memcpy(context->variables[variable], data, bytes);
  context->driver->variablesChanged();
  auto status = storeVariable(*context, variable);
  context->hostTeam.begin();
  for (uint32_t i = 0; i < executable.variable_count; ++i)
    if (executable.variables[i].role == MPC_RT_ROLE_SHADOW &&
        context->values.states[i] == VariableValues::State::own &&
        executable.variables[i].shadow_of == static_cast<int32_t>(variable)) {
      refreshShadow(*context, i);
      status = status ? status : storeVariable(*context, i);
    }
  context->hostTeam.end();
  return status;
}

mpc_rt_status_t mpc_rt_context_get_variable(mpc_rt_context_t *context, uint32_t variable,
                                            mpc_rt_dtype_t dtype, void *data, size_t bytes) {
  if (auto status =
          checkAccess("mpc_rt_context_get_variable", context, variable, dtype, data, bytes))
    return status;
  ContextUse use(&context->user, "mpc_rt_context_get_variable");
  if (use.status())
    return use.status();
  if (auto status = fetchVariable(*context, variable))
    return status;
  if (bytes)
    std::memcpy(data, context->variables[variable], bytes);
  return MPC_RT_OK;
}

mpc_rt_status_t mpc_rt_context_variables_changed(mpc_rt_context_t *context) {
  if (!context)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_variables_changed: context is null");
  ContextUse use(&context->user, "mpc_rt_context_variables_changed");
  if (use.status())
    return use.status();
  if (auto status = settleRanks(*context))
    return status;
  // Shadows are made of whole weights.
  for (uint32_t i = 0; i < context->variables.size(); ++i)
    if (auto &info = context->executable().variables[i]; info.role == MPC_RT_ROLE_SHADOW)
      if (auto status = checkWhole(*context, static_cast<uint32_t>(info.shadow_of)))
        return status;
  context->driver->variablesChanged();
  if (!context->driver->ownsMemory() && !context->values.shadowsAreExposed) {
    // Made when a run or a reader wants them.
    for (uint32_t i = 0; i < context->variables.size(); ++i)
      if (context->executable().variables[i].role == MPC_RT_ROLE_SHADOW)
        forgetShadow(*context, i);
    return MPC_RT_OK;
  }
  auto &masters = context->layout.roles[MPC_RT_ROLE_TRAINABLE];
  auto &shadows = context->layout.roles[MPC_RT_ROLE_SHADOW];
  // Shadows are made of what the host has: of all masters, or none.
  for (auto *block : {&masters, &shadows})
    if (auto status = context->driver->deviceMemory().fetchVariables(block->offset, block->bytes))
      return status;
  if (auto status = refreshShadows(*context))
    return status;
  return context->driver->deviceMemory().storeFetchedVariables();
}

void *mpc_rt_context_role_block(mpc_rt_context_t *context, uint32_t role, size_t *bytes) {
  if (!context || role > MPC_RT_ROLE_SHADOW || context->layout.roles[role].bytes == 0)
    return nullptr;
  auto &block = context->layout.roles[role];
  for (uint32_t i = 0; i < context->variables.size(); ++i)
    if (context->executable().variables[i].role == role &&
        (checkWhole(*context, i) || exposeVariable(*context, i)))
      return nullptr;
  if (context->driver->deviceMemory().fetchVariables(block.offset, block.bytes))
    return nullptr;
  if (bytes)
    *bytes = block.bytes;
  return context->variableArena.data() + context->layout.roles[role].offset;
}

} // extern "C"
