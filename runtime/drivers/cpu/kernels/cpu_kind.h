// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The families of CPUs that the tables of kernels tell apart.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_CPU_KIND_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_CPU_KIND_H

#include "runtime/base/cpu.h"

namespace mpc::rt {

// Bits, so that a row of a table may hold for several.
enum CpuKind : uint32_t {
  zen3 = 1 << 0, // and AMD's before
  zen4 = 1 << 1,
  zen5 = 1 << 2,                 // and AMD's after it
  intelWithoutBFloat16 = 1 << 3, // Cascade Lake, Ice Lake, desktops
  intelWithBFloat16 = 1 << 4,    // Cooper Lake, and later ones whose AMX is hidden from guests
  intelWithAmx = 1 << 5,         // Sapphire, Emerald and Granite Rapids
  unknownCpu = 1 << 6,           // of another vendor
};
constexpr uint32_t amdCpus = zen3 | zen4 | zen5;
// The kinds that tables were measured on.
constexpr uint32_t measuredCpus = amdCpus | intelWithBFloat16 | intelWithAmx;
constexpr uint32_t intelWithoutAmx = intelWithoutBFloat16 | intelWithBFloat16;
// Those that nobody measured go as Intel's with AMX do, without its tiles.
constexpr uint32_t otherCpus = intelWithoutBFloat16 | intelWithBFloat16 | intelWithAmx | unknownCpu;
constexpr uint32_t everyCpu = amdCpus | otherCpus;

// The kind depends on vendor, family and features, as CPUID gives them.
CpuKind kindOf(const Cpu &cpu) noexcept;
// The kind of this CPU, or the one that MPC_CPU_KIND names.
CpuKind cpuKind() noexcept;
// The name of one kind: "zen3".
const char *kindName(CpuKind kind) noexcept;

} // namespace mpc::rt

#endif
