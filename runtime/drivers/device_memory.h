// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies between the host's memory and that of a device. The defaults are those of drivers
// whose code works on memory of the host: there is one copy, and nothing moves.
#ifndef MPC_RUNTIME_DRIVERS_DEVICE_MEMORY_H
#define MPC_RUNTIME_DRIVERS_DEVICE_MEMORY_H

#include "mpc-rt/executable.h"
#include "mpc-rt/model.h"
#include "mpc-rt/status.h"
#include "runtime/drivers/value_counter.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace mpc::rt {

// A part of a larger memory.
struct MemoryBlock {
  uint64_t offset = 0, bytes = 0;
};

// Which tensors of a call are the caller's memory on the device.
struct DeviceTensors {
  std::vector<bool> inputs, outputs;
  bool any() const {
    return std::count(inputs.begin(), inputs.end(), true) ||
           std::count(outputs.begin(), outputs.end(), true);
  }
};

class DeviceMemory {
public:
  virtual ~DeviceMemory() = default;

  // Whether code works on memory of the device.
  virtual bool isApart() const noexcept { return false; }
  // The variables are at `host`; `blocks` (one per role) are what is fetched at a time.
  virtual mpc_rt_status_t bindVariables(uint8_t * /*host*/, uint64_t /*bytes*/,
                                        const std::vector<MemoryBlock> & /*blocks*/) {
    return MPC_RT_OK;
  }
  // Before the host reads or writes a part of the variables.
  virtual mpc_rt_status_t fetchVariables(uint64_t /*offset*/, uint64_t /*bytes*/) {
    return MPC_RT_OK;
  }
  // After the host wrote this part.
  virtual mpc_rt_status_t storeVariables(uint64_t /*offset*/, uint64_t /*bytes*/) {
    return MPC_RT_OK;
  }
  // After the host wrote any of what it had fetched.
  virtual mpc_rt_status_t storeFetchedVariables() { return MPC_RT_OK; }

  // The contract of mpc_rt_context_prefetch, where memory is apart.
  virtual mpc_rt_status_t prefetch(const mpc_rt_entry_info_t & /*entry*/, int64_t /*batch*/,
                                   mpc_rt_fill_inputs_fn /*fill*/, void * /*user*/) {
    return MPC_RT_UNAVAILABLE;
  }
  // Whether a run has the inputs of this call, so that call.inputs may be null.
  virtual bool hasInputs(const mpc_rt_entry_info_t & /*entry*/, int64_t /*batch*/) const noexcept {
    return false;
  }
  // Inside a run, in the order of its work: zeros.
  virtual mpc_rt_status_t clear(void *data, uint64_t bytes) {
    if (bytes != 0)
      std::memset(data, 0, bytes);
    return MPC_RT_OK;
  }
  // Inside a run, where memory is apart: what the device has at `from` when it comes to this is at
  // `to` on the host after arrive(), and what the host has at `from` now is at `to` on the device
  // for the work that follows.
  virtual mpc_rt_status_t bring(void * /*to*/, const void * /*from*/, uint64_t /*bytes*/) {
    return MPC_RT_UNAVAILABLE;
  }
  // Also where nothing was brought, since the host alone knows what it gives: the run waits for it.
  virtual mpc_rt_status_t arrive() { return MPC_RT_OK; }
  virtual mpc_rt_status_t give(void * /*to*/, const void * /*from*/, uint64_t /*bytes*/) {
    return MPC_RT_UNAVAILABLE;
  }
  // Inside a run: the host does something in the middle of it that is no work of the device.
  virtual void waitsForHost() noexcept {}
  // Null: the host counts what entries report.
  virtual ValueCounter *valueCounter() noexcept { return nullptr; }
  // From now on runs of entries may do other things than they did.
  virtual void forgetRuns() noexcept {}

  // The caller's memory on this device to the host, and waits for it. Never called where memory is
  // not apart.
  virtual mpc_rt_status_t copyToHost(void * /*to*/, const void * /*from*/, uint64_t /*bytes*/) {
    return MPC_RT_OK;
  }
};

} // namespace mpc::rt

#endif
