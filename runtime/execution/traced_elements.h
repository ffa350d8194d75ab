// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values that a device with memory of its own reports, on the host.
#ifndef MPC_RUNTIME_EXECUTION_TRACED_ELEMENTS_H
#define MPC_RUNTIME_EXECUTION_TRACED_ELEMENTS_H

#include "mpc-rt/services.h"
#include "runtime/base/memory.h"
#include "runtime/drivers/device_memory.h"

namespace mpc::rt {

class TracedElements {
public:
  explicit TracedElements(DeviceMemory &memory) : memory(memory) {}

  // Waits for the device. The call has addresses of the host then, until the next one.
  mpc_rt_status_t bring(const mpc_rt_trace_t &descriptor, mpc_rt_trace_call_t &call);

private:
  DeviceMemory &memory;
  Buffer value, before;
};

} // namespace mpc::rt

#endif
