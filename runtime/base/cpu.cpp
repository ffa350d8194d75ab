// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CPU identification. Bit numbers: Intel SDM volume 2, CPUID; levels: the x86-64 psABI.
#include "runtime/base/cpu.h"
#include "mpc-rt/device.h"
#include "runtime/base/cpuid.h"
#include "runtime/rules/isa_name.h"

#include <cstring>
#include <sched.h>
#include <unistd.h>

namespace mpc::rt {
namespace {

bool bit(unsigned word, unsigned index) { return (word >> index) & 1u; }

unsigned affinityCount() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
    return static_cast<unsigned>(CPU_COUNT(&set));
  long online = sysconf(_SC_NPROCESSORS_ONLN); // more CPUs than cpu_set_t holds
  return online > 0 ? static_cast<unsigned>(online) : 1;
}

Cpu identify() {
  Cpu found;
  const CpuidRegisters one = cpuid(1), seven = cpuid(7), sevenOne = cpuid(7, 1),
                       extended = cpuid(0x80000001u);
  bool saved = bit(one.ecx, 27); // OSXSAVE
  uint64_t state = saved ? savedStates() : 0;
  bool ymm = (state & 0x6) == 0x6, zmm = (state & 0xe6) == 0xe6;
  bool tiles = (state & 0x60000) == 0x60000;

  auto add = [&](bool present, uint64_t feature) { found.features |= present ? feature : 0; };
  bool avx2 = ymm && bit(one.ecx, 28) && bit(seven.ebx, 5);
  bool v4 = zmm && bit(seven.ebx, 16) && bit(seven.ebx, 17) && bit(seven.ebx, 28) &&
            bit(seven.ebx, 30) && bit(seven.ebx, 31);
  add(avx2, MPC_RT_FEATURE_AVX2);
  add(ymm && bit(one.ecx, 12), MPC_RT_FEATURE_FMA);
  add(ymm && bit(one.ecx, 29), MPC_RT_FEATURE_F16C);
  add(zmm && bit(seven.ebx, 16), MPC_RT_FEATURE_AVX512F);
  add(v4, MPC_RT_FEATURE_AVX512_V4);
  add(v4 && bit(seven.ecx, 11), MPC_RT_FEATURE_AVX512_VNNI);
  add(v4 && bit(sevenOne.eax, 5), MPC_RT_FEATURE_AVX512_BF16);
  add(v4 && bit(seven.edx, 23), MPC_RT_FEATURE_AVX512_FP16);
  add(tiles && bit(seven.edx, 22), MPC_RT_FEATURE_AMX_BF16);
  add(tiles && bit(seven.edx, 25), MPC_RT_FEATURE_AMX_INT8);

  bool v2 = bit(one.ecx, 0) && bit(one.ecx, 9) && bit(one.ecx, 13) && bit(one.ecx, 19) &&
            bit(one.ecx, 20) && bit(one.ecx, 23) && bit(extended.ecx, 0);
  bool v3 = v2 && avx2 && bit(one.ecx, 12) && bit(one.ecx, 29) && bit(one.ecx, 22) &&
            bit(seven.ebx, 3) && bit(seven.ebx, 8) && bit(extended.ecx, 5);
  found.isa = v3 && v4 ? MPC_RT_ISA_X86_64_V4
              : v3     ? MPC_RT_ISA_X86_64_V3
              : v2     ? MPC_RT_ISA_X86_64_V2
                       : -1;

  const CpuidRegisters zero = cpuid(0);
  const unsigned vendor[] = {zero.ebx, zero.edx, zero.ecx};
  std::memcpy(found.vendor, vendor, sizeof(vendor));
  const unsigned family = one.eax >> 8 & 15;
  found.family = family == 15 ? family + (one.eax >> 20 & 255) : family;

  char brand[49] = {};
  if (cpuid(0x80000000u).eax >= 0x80000004u)
    for (unsigned i = 0; i < 3; ++i) {
      CpuidRegisters part = cpuid(0x80000002u + i);
      std::memcpy(brand + 16 * i, &part, 16);
    }
  const char *name = brand;
  while (*name == ' ')
    ++name;
  std::strncpy(found.model, *name ? name : "x86-64 processor", sizeof(found.model) - 1);

  found.cores = affinityCount();
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0)
    found.memoryBytes = static_cast<uint64_t>(pages) * static_cast<uint64_t>(page);
  return found;
}

} // namespace

const Cpu &cpu() noexcept {
  static const Cpu found = identify();
  return found;
}

bool mayUseTiles() noexcept {
  static const bool granted = (cpu().features & MPC_RT_FEATURE_AMX_BF16) && requestTiles();
  return granted;
}

const char *isaName(int isa) noexcept {
  const char *name = rules::isaName(isa);
  return name ? name : "below x86-64-v2";
}

} // namespace mpc::rt
