// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/base/cpuid.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mpc::rt {

CpuidRegisters cpuid(unsigned leaf, unsigned subleaf) noexcept {
  CpuidRegisters r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

uint64_t savedStates() noexcept {
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

bool requestTiles() noexcept {
  constexpr long requestPermission = 0x1023, tileData = 18;
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}

} // namespace mpc::rt
