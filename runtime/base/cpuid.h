// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plain answers of the processor and the kernel, and nothing made of them: test/SoftwareTiles
// answers all of these instead.
#ifndef MPC_RUNTIME_BASE_CPUID_H
#define MPC_RUNTIME_BASE_CPUID_H

#include <cstdint>

namespace mpc::rt {

struct CpuidRegisters {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// Zeros for a leaf that there is not.
CpuidRegisters cpuid(unsigned leaf, unsigned subleaf = 0) noexcept;

// Register 0 of XGETBV, which a CPU with OSXSAVE has: what the kernel saves of a thread.
uint64_t savedStates() noexcept;

// Linux hands out tile data on request only (Documentation/arch/x86/xstate.rst). False: tile
// instructions end the program.
bool requestTiles() noexcept;

} // namespace mpc::rt

#endif
