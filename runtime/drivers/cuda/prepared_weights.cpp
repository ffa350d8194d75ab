// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Versions of the variables tell what is out of date.
#include "runtime/drivers/cuda/prepared_weights.h"

namespace mpc::rt::cuda {

mpc_rt_status_t PreparedWeights::begin(const mpc_rt_entry_info_t *entry,
                                       const mpc_rt_call_t &call) {
  running = entry;
  auto found = entries.find(entry);
  return found == entries.end() ? MPC_RT_OK : update(found->second, call);
}

mpc_rt_status_t PreparedWeights::prepare(const mpc_rt_call_t &call, mpc_rt_prepare_fn fill,
                                         uint64_t bytes, void *&memory) {
  Entry &own = entries[running];
  if (!own.memory)
    own.memory = std::make_unique<Memory>(session, Memory::Kind::device);
  bool grew = false;
  if (auto status = own.memory->reserve(bytes, "prepared weights", grew))
    return status;
  if (grew || own.fill != fill)
    own.version = 0;
  own.fill = fill;
  memory = own.memory->data();
  return update(own, call);
}

mpc_rt_status_t PreparedWeights::update(Entry &entry, const mpc_rt_call_t &call) {
  if (entry.version == version)
    return MPC_RT_OK;
  if (int32_t status = entry.fill(&call, entry.memory->data()))
    return static_cast<mpc_rt_status_t>(status);
  entry.version = version;
  return MPC_RT_OK;
}

void PreparedWeights::entryChangedVariables() noexcept {
  ++version;
  auto found = entries.find(running);
  if (found != entries.end() && found->second.version == version - 1)
    found->second.version = version;
}

uint64_t PreparedWeights::bytes() const {
  uint64_t total = 0;
  for (const auto &[entry, own] : entries)
    total += own.memory ? own.memory->size() : 0;
  return total;
}

} // namespace mpc::rt::cuda
