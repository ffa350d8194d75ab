// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GPUs as devices: names, capabilities, what policies gain on them.
#ifndef MPC_RUNTIME_DEVICE_CUDA_DEVICES_H
#define MPC_RUNTIME_DEVICE_CUDA_DEVICES_H

#include "mpc-rt/device.h"

#include <string>
#include <vector>

namespace mpc::rt {

struct CudaDevice {
  std::string name;       // "cuda:0"
  std::string model;      // as the driver calls it
  std::string capability; // "sm_90"
  int architecture = 0;   // 90
  uint32_t multiprocessors = 0;
  uint64_t memoryBytes = 0;
};

// The GPUs of this machine, in the driver's order; none when there is no driver, and `advice` then
// says why and what to do. The same answer for the whole process.
const std::vector<CudaDevice> &cudaDevices(const char *&advice);

// Says which library that is not installed would make GPUs faster, as a sentence; "" for none.
const char *cudaHint();

// N of "cuda:N", 0 of "cuda"; -1 for anything else.
int cudaOrdinal(const char *name) noexcept;

// Fills in the gain of a policy that computes in `compute` over float32 on a GPU of this
// architecture.
void describeCuda(int architecture, mpc_rt_dtype_t compute, mpc_rt_policy_gain_t &gain) noexcept;

} // namespace mpc::rt

#endif
