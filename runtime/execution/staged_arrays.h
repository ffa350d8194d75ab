// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays of a device that ranks, or parts of a batch, reduce: by way of the host, which has a copy
// of each for as long as it is under way.
#ifndef MPC_RUNTIME_EXECUTION_STAGED_ARRAYS_H
#define MPC_RUNTIME_EXECUTION_STAGED_ARRAYS_H

#include "runtime/drivers/device_memory.h"

namespace mpc::rt {

class StagedArrays {
public:
  explicit StagedArrays(DeviceMemory &memory) : memory(memory) {}

  // The copy of `bytes` bytes at `data`, which holds them after arrive(). With `isUnread` it holds
  // nothing: the caller writes it.
  mpc_rt_status_t fetch(uint32_t bucket, void *data, uint64_t bytes, bool isUnread, void *&copy);
  // All copies hold their arrays; the bucket has no more of them.
  mpc_rt_status_t arrive(uint32_t bucket);
  // The arrays of a bucket become what their copies are. Once: later calls do nothing.
  mpc_rt_status_t giveBack(uint32_t bucket);

private:
  struct Array {
    void *data = nullptr;
    uint64_t bytes = 0;
    std::vector<char> copy; // its memory stays from run to run
  };
  struct Bucket {
    std::vector<Array> arrays;
    size_t used = 0;
    bool isSent = false;
  };

  DeviceMemory &memory;
  std::vector<Bucket> buckets;
};

} // namespace mpc::rt

#endif
