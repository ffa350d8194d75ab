// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes the memory that a context will need, before there is one.
#include "runtime/base/status.h"
#include "runtime/execution/train_loop.h"
#include "runtime/execution/variable_layout.h"
#include "runtime/module/model.h"

#include <algorithm>
#include <cstring>

using namespace mpc::rt;

namespace {

bool hasCustomLoop(const mpc_rt_executable_t &executable) {
  return std::any_of(executable.entries, executable.entries + executable.entry_count,
                     [](const mpc_rt_entry_info_t &entry) {
                       return std::strcmp(entry.name, "train_forward") == 0;
                     });
}

// False on overflow.
bool largestArena(const mpc_rt_executable_t &executable, int64_t batch, uint64_t &largest) {
  largest = 0;
  for (uint32_t i = 0; i < executable.entry_count; ++i) {
    uint64_t bytes = 0;
    if (!arenaBytes(executable.entries[i], batch, bytes))
      return false;
    largest = std::max(largest, bytes);
  }
  return true;
}

mpc_rt_status_t measure(const mpc_rt_executable_t &executable, int64_t batch,
                        mpc_rt_workspace_t &workspace) {
  VariableLayout layout;
  mpc_rt_workspace_t found = {workspace.struct_size, 0, 0, 0, 0, 0};
  bool fits =
      layOutVariables(executable, layout) && largestArena(executable, batch, found.arena_bytes);
  found.variable_bytes = layout.bytes;
  if (fits && hasCustomLoop(executable)) {
    TrainLoop loop{Allocator{}};
    if (auto status = loop.open(executable))
      return status;
    fits = loop.keptBytes(batch, found.kept_bytes);
    found.gradient_bytes = loop.gradientBytes();
  }
  if (!fits)
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: batch %lld overflows the memory's size",
                executable.model_name, static_cast<long long>(batch));
  workspace = found;
  return MPC_RT_OK;
}

} // namespace

extern "C" mpc_rt_status_t mpc_rt_model_workspace(const mpc_rt_model_t *model, int64_t batch,
                                                  mpc_rt_workspace_t *workspace) {
  if (!model || !workspace || workspace->struct_size < sizeof(*workspace))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "mpc_rt_model_workspace: a null argument, or workspace.struct_size is not set");
  if (batch < 0)
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: batch %lld; expected at least 0",
                model->executable->model_name, static_cast<long long>(batch));
  return guard("mpc_rt_model_workspace",
               [&] { return measure(*model->executable, batch, *workspace); });
}
