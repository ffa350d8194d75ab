// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that convolutions, or attentions, need while they run, one after the other.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_SCRATCH_H
#define MPC_RUNTIME_DRIVERS_CUDA_SCRATCH_H

#include "runtime/drivers/cuda/device_session.h"

#include <utility>

namespace mpc::rt::cuda {

class Scratch {
public:
  explicit Scratch(DeviceSession &session) : memory(session, Memory::Kind::device) {}

  mpc_rt_status_t reserve(uint64_t bytes, const char *layer) {
    bool grew = false;
    auto status = memory.reserve(bytes, layer, grew);
    moved |= grew;
    return status;
  }
  uint8_t *data() const { return memory.data(); }
  uint64_t size() const { return memory.size(); }

  // Whether the address changed since the last call of this: recorded steps have it.
  bool takeMoved() { return std::exchange(moved, false); }

private:
  Memory memory;
  bool moved = false;
};

} // namespace mpc::rt::cuda

#endif
