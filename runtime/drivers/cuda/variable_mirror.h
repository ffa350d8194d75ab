// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The variables on the GPU, and which of their two copies is current.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_VARIABLE_MIRROR_H
#define MPC_RUNTIME_DRIVERS_CUDA_VARIABLE_MIRROR_H

#include "runtime/drivers/cuda/device_session.h"
#include "runtime/drivers/driver.h"

#include <vector>

namespace mpc::rt::cuda {

class VariableMirror {
public:
  explicit VariableMirror(DeviceSession &session)
      : session(session), device(session, Memory::Kind::device) {}

  // `host` stays where it is; `blocks` cover what is in it.
  mpc_rt_status_t bind(uint8_t *host, uint64_t bytes, const std::vector<MemoryBlock> &blocks);
  // Before the host reads: downloads the blocks that overlap [offset, offset + bytes) and that only
  // the GPU has.
  mpc_rt_status_t fetch(uint64_t offset, uint64_t bytes);
  // After the host wrote [offset, offset + bytes).
  mpc_rt_status_t store(uint64_t offset, uint64_t bytes);
  // After the host wrote anything that it had fetched.
  mpc_rt_status_t storeAll();
  // After a run that may have written.
  void deviceChanged();

  // The address on the GPU of what is at `address` on the host.
  void *onDevice(const void *address) const {
    return device.data() + (static_cast<const uint8_t *>(address) - host);
  }

private:
  struct Block {
    uint64_t offset, bytes;
    bool onlyDevice;
  };
  DeviceSession &session;
  Memory device;
  uint8_t *host = nullptr;
  std::vector<Block> blocks;
};

} // namespace mpc::rt::cuda

#endif
