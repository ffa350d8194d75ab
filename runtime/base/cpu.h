// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The features that this CPU and operating system can run. CPUID and XGETBV are read directly: the
// compiler's __builtin_cpu_supports depends on the libgcc at hand for the newer features.
#ifndef MPC_RUNTIME_BASE_CPU_H
#define MPC_RUNTIME_BASE_CPU_H

#include "mpc-rt/executable.h"

#include <cstdint>

namespace mpc::rt {

struct Cpu {
  uint64_t features = 0; // MPC_RT_FEATURE_*
  int isa = -1;          // mpc_rt_isa_t, -1 below x86-64-v2
  unsigned cores = 1;    // CPUs in this process's affinity mask
  uint64_t memoryBytes = 0;
  char vendor[16] = {}; // "GenuineIntel"
  unsigned family = 0;  // as vendors number their designs: 25 is AMD's Zen 3 and 4, 26 Zen 5
  char model[64] = {};
};

// Read once.
const Cpu &cpu() noexcept;

// The CPU has tiles of bfloat16, and Linux grants them to this process.
bool mayUseTiles() noexcept;

const char *isaName(int isa) noexcept; // "x86-64-v3"

} // namespace mpc::rt

#endif
