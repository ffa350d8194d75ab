// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In the place of runtime/base/cpuid.cpp: an Intel CPU with what this one has, and with software
// tiles if it has AVX-512.
#include "runtime/base/cpuid.h"
#include "test/SoftwareTiles/software.h"

#include <cpuid.h>
#include <cstring>

namespace mpc::rt {
namespace {

constexpr char brand[48] = "Intel(R) processor with tiles in software";
constexpr unsigned sapphireRapids = 0x000806f8; // family 6, model 143
// These bits are leaf 7's; bfloat16 is in its second part.
constexpr unsigned tileFeatures = 1u << 22 | 1u << 24 | 1u << 25, bfloat16 = 1u << 5;

CpuidRegisters ask(unsigned leaf, unsigned subleaf) {
  CpuidRegisters r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

uint64_t askForStates() {
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

// AVX512F, DQ, CD, BW and VL, and registers that the kernel saves.
bool hasAvx512() {
  constexpr unsigned features = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;
  constexpr uint64_t registers = 0xe6;
  return (ask(7, 0).ebx & features) == features && (ask(1, 0).ecx & 1u << 27) &&
         (askForStates() & registers) == registers;
}

} // namespace

CpuidRegisters cpuid(unsigned leaf, unsigned subleaf) noexcept {
  CpuidRegisters r = ask(leaf, subleaf);
  if (leaf == 0) { // "GenuineIntel"
    r.ebx = 0x756e6547;
    r.edx = 0x49656e69;
    r.ecx = 0x6c65746e;
  }
  if (leaf == 1)
    r.eax = sapphireRapids;
  if (leaf >= 0x80000002u && leaf <= 0x80000004u)
    std::memcpy(&r, brand + 16 * (leaf - 0x80000002u), sizeof(r));
  if (leaf == 7 && hasAvx512()) {
    r.edx |= subleaf == 0 ? tileFeatures : 0;
    r.eax |= subleaf == 1 ? bfloat16 : 0;
  }
  return r;
}

uint64_t savedStates() noexcept {
  constexpr uint64_t tileStates = 0x60000;
  return askForStates() | tileStates;
}

bool requestTiles() noexcept {
  tiles::permit();
  return true;
}

} // namespace mpc::rt
