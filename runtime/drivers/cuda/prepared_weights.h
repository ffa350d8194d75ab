// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The values that entries compute of their weights alone (the service `prepare`). They are kept on
// the GPU, and computed again before the first call after the weights changed. Recorded steps do
// not have them.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_PREPARED_WEIGHTS_H
#define MPC_RUNTIME_DRIVERS_CUDA_PREPARED_WEIGHTS_H

#include "mpc-rt/executable.h"
#include "runtime/drivers/cuda/device_session.h"

#include <map>
#include <memory>

namespace mpc::rt::cuda {

class PreparedWeights {
public:
  explicit PreparedWeights(DeviceSession &session) : session(session) {}

  // Before a call of `entry`, which may be a recorded one: fills what is out of date.
  mpc_rt_status_t begin(const mpc_rt_entry_info_t *entry, const mpc_rt_call_t &call);
  // The service, of the entry that begin() named.
  mpc_rt_status_t prepare(const mpc_rt_call_t &call, mpc_rt_prepare_fn fill, uint64_t bytes,
                          void *&memory);
  // The caller changed variables.
  void variablesChanged() noexcept { ++version; }
  // The entry that begin() named changed variables, but none of those that it prepares something
  // of.
  void entryChangedVariables() noexcept;
  uint64_t bytes() const;

private:
  struct Entry {
    mpc_rt_prepare_fn fill = nullptr;
    std::unique_ptr<Memory> memory;
    uint64_t version = 0; // of the variables that it was filled for
  };
  mpc_rt_status_t update(Entry &entry, const mpc_rt_call_t &call);

  DeviceSession &session;
  std::map<const mpc_rt_entry_info_t *, Entry> entries;
  const mpc_rt_entry_info_t *running = nullptr;
  uint64_t version = 1;
};

} // namespace mpc::rt::cuda

#endif
