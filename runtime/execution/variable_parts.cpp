// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/execution/variable_parts.h"

#include "mpc-rt/collectives.h"
#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/execution/context.h"

namespace mpc::rt {

VariableParts::VariableParts(mpc_rt_context_t &context, Communicator &communicator)
    : context(context), communicator(communicator),
      arePart(context.executable().variable_count, false) {
  const mpc_rt_executable_t &executable = context.executable();
  for (uint32_t i = 0; i < executable.variable_count; ++i)
    if (executable.variables[i].flags & MPC_RT_VARIABLE_IN_PARTS)
      shared.push_back(i);
}

RankPart VariableParts::ownPart(size_t count) const {
  return rt::ownPart(communicator.rank(), communicator.size(), count);
}

// Whole pages on both sides of the own part.
void VariableParts::drop(uint32_t variable) {
  const uint64_t element = dtypeSize(context.executable().variables[variable].tensor.dtype);
  const uint64_t offset = context.layout.offsets[variable], bytes = context.layout.sizes[variable];
  const RankPart own = ownPart(bytes / element);
  context.variableArena.drop(offset, own.begin * element);
  context.variableArena.drop(offset + own.end * element, bytes - own.end * element);
  arePart[variable] = own.begin != 0 || own.end * element != bytes;
}

void VariableParts::keepOwn() {
  for (uint32_t variable : shared)
    if (!arePart[variable])
      drop(variable);
}

mpc_rt_status_t VariableParts::gather(bool keeps) {
  for (uint32_t variable : shared) {
    const mpc_rt_tensor_info_t &tensor = context.executable().variables[variable].tensor;
    const size_t count = context.layout.sizes[variable] / dtypeSize(tensor.dtype);
    // A variable that nothing has updated stays whole: its shadow may have to be made yet.
    const bool wasPart = arePart[variable];
    if (auto status = ownVariable(context, variable))
      return status;
    // Ranks may differ in what they have kept whole.
    if (auto status = communicator.wait(
            communicator.start({tensor.dtype, MPC_RT_REDUCTION_SUM, Share::gathered},
                               {{context.variables[variable], count}})))
      return status;
    arePart[variable] = false;
    if (!keeps && wasPart)
      drop(variable);
  }
  return MPC_RT_OK;
}

uint64_t VariableParts::bytesElsewhere() const {
  uint64_t bytes = 0;
  for (uint32_t variable : shared) {
    const uint64_t element = dtypeSize(context.executable().variables[variable].tensor.dtype);
    const RankPart own = ownPart(context.layout.sizes[variable] / element);
    bytes += context.layout.sizes[variable] - (own.end - own.begin) * element;
  }
  return bytes;
}

mpc_rt_status_t checkWhole(const mpc_rt_context_t &context, uint32_t variable) {
  if (!context.variableParts || !context.variableParts->isPart(variable))
    return MPC_RT_OK;
  return fail(MPC_RT_FAILED_PRECONDITION,
              "%s: this rank has a part of it (mpcc --shard=optimizer); call "
              "mpc_rt_context_gather_variables on all ranks first",
              context.executable().variables[variable].tensor.name);
}

mpc_rt_status_t shareVariables(mpc_rt_context_t &context, Communicator *communicator) {
  const mpc_rt_executable_t &executable = context.executable();
  bool areShared = false;
  for (uint32_t i = 0; i < executable.variable_count; ++i) {
    if (auto status = checkWhole(context, i))
      return status; // with other ranks other parts would be its own
    areShared |= (executable.variables[i].flags & MPC_RT_VARIABLE_IN_PARTS) != 0;
  }
  context.variableParts = areShared && communicator && communicator->size() > 1
                              ? std::make_unique<VariableParts>(context, *communicator)
                              : nullptr;
  if (!context.variableParts)
    return MPC_RT_OK;
  for (uint32_t i = 0; i < executable.variable_count; ++i)
    if (executable.variables[i].flags & MPC_RT_VARIABLE_IN_PARTS)
      context.variableArena.useSmallPages(context.layout.offsets[i], context.layout.sizes[i]);
  return MPC_RT_OK;
}

} // namespace mpc::rt

mpc_rt_status_t mpc_rt_context_gather_variables(mpc_rt_context_t *context, int32_t keep) {
  using namespace mpc::rt;
  if (!context)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_gather_variables: context is null");
  ContextUse use(&context->user, "mpc_rt_context_gather_variables");
  if (use.status())
    return use.status();
  return guard("mpc_rt_context_gather_variables", [&] {
    return context->variableParts ? context->variableParts->gather(keep != 0) : MPC_RT_OK;
  });
}
