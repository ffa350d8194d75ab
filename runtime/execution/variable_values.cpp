// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables that wait for their values.
#include "runtime/execution/variable_values.h"
#include "runtime/base/status.h"
#include "runtime/execution/context.h"
#include "runtime/initializers/initializers.h"

#include <cstring>

using State = mpc::rt::VariableValues::State;

namespace mpc::rt {
namespace {

class HostTeamRegion {
public:
  explicit HostTeamRegion(ThreadTeam &team) : team(team) { team.begin(); }
  ~HostTeamRegion() { team.end(); }

private:
  ThreadTeam &team;
};

// A value that initializeVariable would refuse is refused at once, not on first use.
bool canWait(const mpc_rt_context_t &context, uint32_t index) {
  auto &variable = context.executable().variables[index];
  const bool isMatrix = variable.initializer == MPC_RT_INIT_ORTHOGONAL ||
                        variable.initializer == MPC_RT_INIT_IDENTITY;
  return mayBeElsewhere(context, index) && variable.role != MPC_RT_ROLE_METRIC &&
         (!isMatrix || variable.tensor.rank >= 2);
}

void leave(VariableValues &values, uint32_t index, State state) {
  values.undrawn += (state == State::undrawn) - (values.states[index] == State::undrawn);
  values.borrowed += (state == State::borrowed) - (values.states[index] == State::borrowed);
  values.states[index] = state;
}

mpc_rt_status_t draw(mpc_rt_context_t &context, uint32_t index) {
  HostTeamRegion region(context.hostTeam);
  auto &variable = context.executable().variables[index];
  if (auto status = guard(variable.tensor.name, [&] {
        return initializeVariable(variable, context.values.seed, context.hostTeam,
                                  context.variables[index]);
      }))
    return status;
  leave(context.values, index, State::own);
  return MPC_RT_OK;
}

} // namespace

mpc_rt_status_t initializeVariables(mpc_rt_context_t &context, uint64_t seed, bool fresh) {
  auto &executable = context.executable();
  auto &values = context.values;
  for (uint32_t i = 0; i < executable.variable_count; ++i)
    if (auto status = fetchForWriting(context, i))
      return status;
  values.seed = seed;
  for (uint32_t i = 0; i < executable.variable_count; ++i) {
    auto &variable = executable.variables[i];
    replaceVariable(context, i);
    if (variable.role == MPC_RT_ROLE_SHADOW ||
        (fresh && variable.initializer == MPC_RT_INIT_ZEROS && variable.role != MPC_RT_ROLE_RANDOM))
      continue;
    if (variable.role == MPC_RT_ROLE_RANDOM) {
      int64_t state[2] = {static_cast<int64_t>(seed), 0};
      std::memcpy(context.variables[i], state, sizeof(state));
    } else if (variable.initializer != MPC_RT_INIT_ZEROS && canWait(context, i)) {
      leave(values, i, State::undrawn);
    } else if (auto status = draw(context, i)) {
      return status;
    }
  }
  return MPC_RT_OK;
}

mpc_rt_status_t readyVariable(mpc_rt_context_t &context, uint32_t variable) {
  auto &values = context.values;
  if (values.states[variable] != State::undrawn)
    return MPC_RT_OK;
  auto &info = context.executable().variables[variable];
  if (info.role != MPC_RT_ROLE_SHADOW)
    return draw(context, variable);
  if (auto status = readyVariable(context, static_cast<uint32_t>(info.shadow_of)))
    return status;
  HostTeamRegion region(context.hostTeam);
  refreshShadow(context, variable);
  leave(values, variable, State::own);
  return MPC_RT_OK;
}

mpc_rt_status_t ownVariable(mpc_rt_context_t &context, uint32_t variable) {
  if (auto status = readyVariable(context, variable))
    return status;
  if (context.values.states[variable] != State::borrowed)
    return MPC_RT_OK;
  const void *borrowed = context.variables[variable];
  auto owner = context.values.owners[variable]; // lives until the copy is made
  replaceVariable(context, variable);
  std::memcpy(context.variables[variable], borrowed, context.layout.sizes[variable]);
  context.driver->variablesChanged(); // it may have kept the address
  return MPC_RT_OK;
}

mpc_rt_status_t exposeVariable(mpc_rt_context_t &context, uint32_t variable) {
  if (auto status = settleRanks(context))
    return status;
  if (auto status = ownVariable(context, variable))
    return status;
  context.values.exposed[variable] = true;
  context.values.shadowsAreExposed |=
      context.executable().variables[variable].role == MPC_RT_ROLE_SHADOW;
  return MPC_RT_OK;
}

bool mayBeElsewhere(const mpc_rt_context_t &context, uint32_t variable) {
  // A device copies the arena, so that everything has to be in it.
  return !context.driver->ownsMemory() && !context.values.exposed[variable] &&
         context.layout.sizes[variable] >= smallestLazyBytes;
}

void replaceVariable(mpc_rt_context_t &context, uint32_t variable) {
  leave(context.values, variable, State::own);
  if (context.variableParts)
    context.variableParts->becameWhole(variable);
  context.values.owners[variable].reset();
  // An empty variable still gets a valid address; the arena of a model without any is null.
  context.variables[variable] = context.variableArena.data() + context.layout.offsets[variable];
}

void borrowVariable(mpc_rt_context_t &context, uint32_t variable, std::shared_ptr<void> owner,
                    void *data) {
  if (context.variableParts)
    context.variableParts->becameWhole(variable);
  leave(context.values, variable, State::borrowed);
  context.values.owners[variable] = std::move(owner);
  context.variables[variable] = data;
}

void forgetShadow(mpc_rt_context_t &context, uint32_t shadow) {
  leave(context.values, shadow, State::undrawn);
  context.values.readAsMaster[shadow] = false;
}

mpc_rt_status_t readyForRun(mpc_rt_context_t &context, bool updates) {
  auto &executable = context.executable();
  auto &values = context.values;
  if (!values.undrawn && !(updates && values.borrowed))
    return MPC_RT_OK;
  for (uint32_t i = 0; i < executable.variable_count; ++i) {
    auto &variable = executable.variables[i];
    // Entries that update nothing read no optimizer variable, and contractions bring what they
    // alone read.
    if (!updates && (variable.role == MPC_RT_ROLE_OPTIMIZER ||
                     (variable.flags & MPC_RT_VARIABLE_ONLY_CONTRACTED)))
      continue;
    if (auto status = updates ? ownVariable(context, i) : readyVariable(context, i))
      return status;
  }
  return MPC_RT_OK;
}

} // namespace mpc::rt

extern "C" mpc_rt_status_t mpc_rt_context_initialize(mpc_rt_context_t *context, uint64_t seed) {
  using namespace mpc::rt;
  if (!context)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_initialize: context is null");
  auto status = guard("mpc_rt_context_initialize",
                      [&] { return initializeVariables(*context, seed, /*fresh=*/false); });
  return status ? status : mpc_rt_context_variables_changed(context);
}
