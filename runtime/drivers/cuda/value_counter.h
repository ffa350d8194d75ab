// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts of what entries report, by a kernel of the library behind each value. They stay on the GPU
// until the run is over.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_VALUE_COUNTER_H
#define MPC_RUNTIME_DRIVERS_CUDA_VALUE_COUNTER_H

#include "runtime/drivers/cuda/kernel_table.h"
#include "runtime/drivers/value_counter.h"

#include <deque>
#include <vector>

namespace mpc::rt::cuda {

class CountsOnDevice final : public ValueCounter {
public:
  CountsOnDevice(DeviceSession &session, KernelTable &kernels)
      : session(session), kernels(kernels) {}

  mpc_rt_status_t count(const mpc_rt_trace_t &descriptor, const mpc_rt_trace_call_t &call,
                        const FormatBounds &format) override;
  mpc_rt_status_t collect(const Take &take) override;
  void discard() noexcept override;
  uint64_t bytes() const;

private:
  struct Counted {
    const mpc_rt_trace_t *descriptor;
    uint64_t elements, warps;
    size_t chunk;
    uint64_t offset;
  };
  static uint64_t bytesOf(const Counted &counted);
  // Zeros for the counts of one value.
  mpc_rt_status_t place(Counted &counted);
  static ValueCounts read(const Counted &counted, const uint8_t *at);

  DeviceSession &session;
  KernelTable &kernels;
  // Chunks stay where they are: kernels that wait or run have their addresses.
  std::deque<Memory> chunks;
  size_t chunk = 0; // that has room for the next value from `end` on
  uint64_t end = 0;
  std::vector<Counted> values; // since the last collect()
  std::vector<uint8_t> room;
};

} // namespace mpc::rt::cuda

#endif
