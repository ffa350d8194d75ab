// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads and stores of each dtype, for files that are compiled once per ISA level (MPC_ISA_LEVEL).
// Each of them has copies of its own: the linker must not serve all CPUs with one level's.
#ifndef MPC_RUNTIME_BASE_VECTOR_TYPES_H
#define MPC_RUNTIME_BASE_VECTOR_TYPES_H

#include "runtime/base/rounding.h"

namespace mpc::rt {
namespace {

#if MPC_ISA_LEVEL >= 3
inline float widenHalf(uint16_t value) {
  return static_cast<float>(__builtin_bit_cast(_Float16, value));
}
inline uint16_t roundHalf(float value) {
  return __builtin_bit_cast(uint16_t, static_cast<_Float16>(value));
}
#else
inline float widenHalf(uint16_t value) { return widenFloat16(value); }
inline uint16_t roundHalf(float value) { return roundToFloat16(value); }
#endif

struct Float32 {
  using Storage = float;
  static float load(float value) { return value; }
  static float store(float value) { return value; }
};
struct BFloat16 {
  using Storage = uint16_t;
  static float load(uint16_t value) { return floatOf(static_cast<uint32_t>(value) << 16); }
  static uint16_t store(float value) { return roundToBFloat16(value); }
};
struct Float16 {
  using Storage = uint16_t;
  static float load(uint16_t value) { return widenHalf(value); }
  static uint16_t store(float value) { return roundHalf(value); }
};

} // namespace
} // namespace mpc::rt

#endif
