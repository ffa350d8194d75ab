// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// IEEE conversions between float32 and the 16-bit formats on bit patterns: round to nearest, ties
// to even; overflow to infinity; NaN keeps its sign and upper payload and becomes quiet (as
// LLVM's APFloat and the hardware do). Integer arithmetic only, so that flush-to-zero modes have
// no say. Static, because this header is also compiled once per ISA.
#ifndef MPC_RUNTIME_BASE_ROUNDING_H
#define MPC_RUNTIME_BASE_ROUNDING_H

#include <stdint.h>

namespace mpc::rt {

static inline uint32_t bitsOf(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  return bits;
}

static inline float floatOf(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

static inline uint16_t roundToBFloat16(float value) {
  uint32_t bits = bitsOf(value);
  uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  uint32_t quiet = (bits >> 16) | 0x40u;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

static inline float widenBFloat16(uint16_t value) {
  uint32_t bits = static_cast<uint32_t>(value) << 16;
  return floatOf((bits & 0x7fffffffu) > 0x7f800000u ? bits | 0x400000u : bits);
}

static inline uint16_t roundToFloat16(float value) {
  uint32_t bits = bitsOf(value);
  uint32_t sign = (bits >> 16) & 0x8000u;
  uint32_t magnitude = bits & 0x7fffffffu;
  uint32_t result;
  if (magnitude > 0x7f800000u) {
    result = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  } else if (magnitude >= 0x477ff000u) { // 65520, the midpoint above 65504, and beyond
    result = 0x7c00u;
  } else if (magnitude >= 0x38800000u) { // 2^-14: normal
    uint32_t rebased = magnitude - 0x38000000u;
    result = (rebased + 0xfffu + ((rebased >> 13) & 1u)) >> 13;
  } else if (magnitude > 0x33000000u) {        // above 2^-25, half the smallest subnormal
    uint32_t shift = 126u - (magnitude >> 23); // 14..24
    uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    uint32_t kept = mantissa >> shift;
    uint32_t dropped = mantissa & ((1u << shift) - 1u);
    uint32_t half = 1u << (shift - 1u);
    result = kept + ((dropped > half || (dropped == half && (kept & 1u))) ? 1u : 0u);
  } else {
    result = 0;
  }
  return static_cast<uint16_t>(sign | result);
}

static inline float widenFloat16(uint16_t value) {
  uint32_t sign = static_cast<uint32_t>(value & 0x8000u) << 16;
  uint32_t exponent = (value >> 10) & 0x1fu;
  uint32_t mantissa = value & 0x3ffu;
  if (exponent == 0x1fu)
    return floatOf(sign | 0x7f800000u | (mantissa << 13) | (mantissa ? 0x400000u : 0u));
  if (exponent != 0)
    return floatOf(sign | ((exponent + 112u) << 23) | (mantissa << 13));
  if (mantissa == 0)
    return floatOf(sign);
  uint32_t leading = 31u - static_cast<uint32_t>(__builtin_clz(mantissa)); // 0..9
  return floatOf(sign | ((leading + 103u) << 23) | ((mantissa << (23u - leading)) & 0x7fffffu));
}

// float8 of `fraction` bits whose smallest normal number has the exponent field `smallest` in
// float32, without its sign and before what is too large.
static inline uint32_t roundToFloat8(uint32_t magnitude, uint32_t fraction, uint32_t smallest) {
  if (magnitude >> 23 >= smallest) {
    uint32_t shift = 23u - fraction, rebased = magnitude - ((smallest - 1u) << 23);
    return (rebased + (1u << (shift - 1u)) - 1u + ((rebased >> shift) & 1u)) >> shift;
  }
  uint32_t shift = 23u - fraction + smallest - (magnitude >> 23);
  if (shift > 24u)
    return 0;
  uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  uint32_t kept = mantissa >> shift, dropped = mantissa & ((1u << shift) - 1u);
  uint32_t half = 1u << (shift - 1u);
  return kept + ((dropped > half || (dropped == half && (kept & 1u))) ? 1u : 0u);
}

static inline uint8_t roundToFloat8E4M3FN(float value) {
  uint32_t sign = (bitsOf(value) >> 24) & 0x80u, magnitude = bitsOf(value) & 0x7fffffffu;
  if (magnitude > 0x43e80000u) // above 464, the midpoint behind 448; NaN
    return static_cast<uint8_t>(sign | 0x7fu);
  return static_cast<uint8_t>(sign | roundToFloat8(magnitude, 3, 121));
}

static inline uint8_t roundToFloat8E5M2(float value) {
  uint32_t sign = (bitsOf(value) >> 24) & 0x80u, magnitude = bitsOf(value) & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return static_cast<uint8_t>(sign | 0x7eu);
  if (magnitude >= 0x47700000u) // 61440, the midpoint above 57344, and beyond
    return static_cast<uint8_t>(sign | 0x7cu);
  return static_cast<uint8_t>(sign | roundToFloat8(magnitude, 2, 113));
}

// Its bits are float16's with a bias that is 8 less; all set are NaN.
static inline float widenFloat8E4M3FN(uint8_t value) {
  uint32_t sign = static_cast<uint32_t>(value & 0x80u) << 8, magnitude = value & 0x7fu;
  if (magnitude == 0x7fu)
    return floatOf(sign << 16 | 0x7fc00000u);
  return widenFloat16(static_cast<uint16_t>(sign | magnitude << 7)) * 256.0f;
}

static inline float widenFloat8E5M2(uint8_t value) {
  return widenFloat16(static_cast<uint16_t>(value << 8));
}

} // namespace mpc::rt

#endif
