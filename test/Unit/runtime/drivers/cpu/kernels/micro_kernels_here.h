// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which micro-kernels this CPU runs.
#ifndef MPC_TEST_UNIT_RUNTIME_DRIVERS_CPU_KERNELS_MICRO_KERNELS_HERE_H
#define MPC_TEST_UNIT_RUNTIME_DRIVERS_CPU_KERNELS_MICRO_KERNELS_HERE_H

#include "mpc-rt/device.h"
#include "runtime/base/cpu.h"
#include "runtime/drivers/cpu/kernels/micro_kernel.h"

#include <string>

namespace mpc::rt {

inline bool runsHere(const MicroKernel &kernel) {
  if (cpu().isa < isaOf(kernel))
    return false;
  if (&kernel == &amxBFloat16) // asking for the kernel asks Linux for tiles
    return bfloat16MicroKernel(MPC_RT_ISA_X86_64_V4) == &amxBFloat16;
  return &kernel != &avx512BFloat16 || (cpu().features & MPC_RT_FEATURE_AVX512_BF16);
}

// As users read it, but that two kernels share theirs.
inline std::string testNameOf(const MicroKernel &kernel) {
  return std::string(kernel.name) + (&kernel == &avx512Float32Ahead ? "_ahead" : "");
}

} // namespace mpc::rt

#endif // MPC_TEST_UNIT_RUNTIME_DRIVERS_CPU_KERNELS_MICRO_KERNELS_HERE_H
