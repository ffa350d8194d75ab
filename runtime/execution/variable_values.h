// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the values of variables are. A large variable costs nothing until somebody wants it: its
// initial value is drawn on first use, and a value of the weights file is read where the file is
// mapped, until something writes it. Then it moves to its place in the variable arena.
#ifndef MPC_RUNTIME_EXECUTION_VARIABLE_VALUES_H
#define MPC_RUNTIME_EXECUTION_VARIABLE_VALUES_H

#include "mpc-rt/status.h"

#include <cstdint>
#include <memory>
#include <vector>

struct mpc_rt_context_t;

namespace mpc::rt {

struct VariableValues {
  enum class State : uint8_t {
    own,     // in the arena
    undrawn, // nowhere yet: the initializer says it, or of a shadow its master
    borrowed // in memory that `owners` keeps
  };
  std::vector<State> states;
  std::vector<std::shared_ptr<void>> owners;
  // Somebody has the address: the value must always be there.
  std::vector<bool> exposed;
  uint64_t seed = 0; // of what is undrawn
  // The shadow's master was read by a contraction instead since the value last changed.
  std::vector<bool> readAsMaster;
  bool shadowsAreExposed = false;
  uint32_t undrawn = 0, borrowed = 0; // how many
};

// Smaller variables are not worth waiting or borrowing for.
constexpr uint64_t smallestLazyBytes = 64 << 10;

// Every variable from its initializer; `fresh`: the arena is still zero.
mpc_rt_status_t initializeVariables(mpc_rt_context_t &context, uint64_t seed, bool fresh);
// The value can be read at context.variables[variable].
mpc_rt_status_t readyVariable(mpc_rt_context_t &context, uint32_t variable);
// It can also be written there.
mpc_rt_status_t ownVariable(mpc_rt_context_t &context, uint32_t variable);
// The same, and address and value stay for whoever keeps the address.
mpc_rt_status_t exposeVariable(mpc_rt_context_t &context, uint32_t variable);
// Whether the value may be somewhere else than in the arena.
bool mayBeElsewhere(const mpc_rt_context_t &context, uint32_t variable);
// The same without its value: all of it is about to be overwritten.
void replaceVariable(mpc_rt_context_t &context, uint32_t variable);
// `data` is the value from now on, 64-byte aligned; a null owner means that it lives for ever.
void borrowVariable(mpc_rt_context_t &context, uint32_t variable, std::shared_ptr<void> owner,
                    void *data);
// The master of this shadow has changed.
void forgetShadow(mpc_rt_context_t &context, uint32_t shadow);
// Before a run: everything that it may read, or all of it to write.
mpc_rt_status_t readyForRun(mpc_rt_context_t &context, bool updates);

} // namespace mpc::rt

#endif
