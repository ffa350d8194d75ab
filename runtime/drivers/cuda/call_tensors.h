// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The inputs and outputs of a call on the GPU, where recorded steps find them. What the caller has
// on the host goes through pinned memory, what it has on this GPU is copied there.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_CALL_TENSORS_H
#define MPC_RUNTIME_DRIVERS_CUDA_CALL_TENSORS_H

#include "runtime/drivers/cuda/device_session.h"
#include "runtime/drivers/driver.h"

#include <vector>

namespace mpc::rt::cuda {

class CallTensors {
public:
  explicit CallTensors(DeviceSession &session)
      : session(session), tensors(session, Memory::Kind::device),
        staging(session, Memory::Kind::pinned) {}

  // The layout of the tensors: inputs, then outputs, each at a multiple of `alignment`.
  static constexpr uint64_t alignment = 256;
  struct Layout {
    std::vector<uint64_t> offsets, sizes;
    uint64_t inputBytes = 0, bytes = 0;
  };
  static Layout layOut(const mpc_rt_entry_info_t &entry, int64_t batch);

  // `moved`: addresses of before are gone.
  mpc_rt_status_t reserve(const Layout &layout, bool &moved);
  DevicePointer address() const { return tensors.address(); }
  uint8_t *data() const { return tensors.data(); }

  // Starts the copies from and to the caller's memory; `onDevice` as Driver::run has it.
  mpc_rt_status_t copyInputs(const mpc_rt_entry_info_t &entry, const mpc_rt_call_t &call,
                             const Layout &layout, const DeviceTensors *onDevice);
  mpc_rt_status_t copyOutputs(const mpc_rt_entry_info_t &entry, const mpc_rt_call_t &call,
                              const Layout &layout, const DeviceTensors *onDevice);
  // After the wait for them: what the host has of the outputs.
  void deliverOutputs(const mpc_rt_entry_info_t &entry, const mpc_rt_call_t &call,
                      const Layout &layout, const DeviceTensors *onDevice) const;

private:
  DeviceSession &session;
  Memory tensors, staging;
};

} // namespace mpc::rt::cuda

#endif
