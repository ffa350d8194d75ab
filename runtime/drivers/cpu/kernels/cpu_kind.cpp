// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/kernels/cpu_kind.h"
#include "mpc-rt/device.h"

#include <cstdlib>
#include <cstring>

namespace mpc::rt {
namespace {

constexpr unsigned everyFamily = ~0u;

// The first row that fits is the CPU's.
struct KindRow {
  const char *vendor;  // "" fits all
  unsigned lastFamily; // families up to this one
  uint64_t without;    // features that it has none of
  uint64_t with;       // features that it has all of
  CpuKind kind;
};

constexpr KindRow kinds[] = {
    {"AuthenticAMD", 25, MPC_RT_FEATURE_AVX512_V4, 0, zen3},
    {"AuthenticAMD", 25, 0, 0, zen4},
    {"AuthenticAMD", everyFamily, 0, 0, zen5},
    {"GenuineIntel", everyFamily, 0, MPC_RT_FEATURE_AMX_BF16, intelWithAmx},
    {"GenuineIntel", everyFamily, 0, MPC_RT_FEATURE_AVX512_BF16, intelWithBFloat16},
    {"GenuineIntel", everyFamily, 0, 0, intelWithoutBFloat16},
    {"", everyFamily, 0, 0, unknownCpu},
};

constexpr struct {
  CpuKind kind;
  const char *name;
} names[] = {{zen3, "zen3"},
             {zen4, "zen4"},
             {zen5, "zen5"},
             {intelWithoutBFloat16, "intel"},
             {intelWithBFloat16, "intel-bf16"},
             {intelWithAmx, "intel-amx"},
             {unknownCpu, "unknown"}};

// A kind chooses among kernels that run here, so that any is right for any CPU.
CpuKind wantedKind() noexcept {
  const char *wanted = std::getenv("MPC_CPU_KIND");
  for (const auto &row : names)
    if (wanted && std::strcmp(row.name, wanted) == 0)
      return row.kind;
  return kindOf(cpu());
}

} // namespace

const char *kindName(CpuKind kind) noexcept {
  for (const auto &row : names)
    if (row.kind == kind)
      return row.name;
  return "unknown";
}

CpuKind kindOf(const Cpu &cpu) noexcept {
  for (const KindRow &row : kinds)
    if ((!*row.vendor || std::strcmp(row.vendor, cpu.vendor) == 0) &&
        cpu.family <= row.lastFamily && !(cpu.features & row.without) &&
        (cpu.features & row.with) == row.with)
      return row.kind;
  return unknownCpu;
}

CpuKind cpuKind() noexcept {
  static const CpuKind kind = wantedKind();
  return kind;
}

} // namespace mpc::rt
