// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bit-level conversions of float16 and bfloat16, to nearest, ties to even.
#ifndef MPC_RUNTIME_DATA_HALF_H
#define MPC_RUNTIME_DATA_HALF_H

#include <cmath>
#include <cstdint>
#include <cstring>

namespace mpc::data {

struct Float16 {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

inline uint32_t floatBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}
inline float floatFromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

inline float toFloat(BFloat16 value) { return floatFromBits(uint32_t(value.bits) << 16); }

inline float toFloat(Float16 value) {
  uint32_t sign = uint32_t(value.bits & 0x8000) << 16;
  uint32_t exponent = (value.bits >> 10) & 31, fraction = value.bits & 1023;
  if (exponent == 31)
    return floatFromBits(sign | 0x7f800000u | fraction << 13);
  if (exponent == 0) {
    float magnitude = static_cast<float>(fraction) * 0x1p-24f; // exact
    return sign ? -magnitude : magnitude;
  }
  return floatFromBits(sign | (exponent + 112) << 23 | fraction << 13);
}

template <typename T> T fromFloat(float value);

template <> inline BFloat16 fromFloat<BFloat16>(float value) {
  uint32_t bits = floatBits(value);
  if (std::isnan(value))
    return {static_cast<uint16_t>(bits >> 16 | 0x40)};
  return {static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

template <> inline Float16 fromFloat<Float16>(float value) {
  uint32_t bits = floatBits(value);
  uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return {static_cast<uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff))};
  if (magnitude >= 0x477ff000) // 65520 and above round to infinity
    return {static_cast<uint16_t>(sign | 0x7c00)};
  if (magnitude >= 0x38800000) { // normal: 2^-14 and above
    uint32_t rebased = magnitude - (112u << 23);
    return {static_cast<uint16_t>(sign | (rebased + 0xfff + (rebased >> 13 & 1)) >> 13)};
  }
  if (magnitude < 0x33000000) // below half of the smallest subnormal
    return {sign};
  uint32_t shift = 126 - (magnitude >> 23); // 14 .. 24
  uint32_t significand = (magnitude & 0x7fffff) | 0x800000;
  uint32_t result = significand >> shift;
  uint32_t rest = significand & ((1u << shift) - 1), half = 1u << (shift - 1);
  if (rest > half || (rest == half && (result & 1)))
    ++result;
  return {static_cast<uint16_t>(sign | result)};
}

/// A float32 from which rounding to a 16-bit type gives what rounding `value` itself would: rounded
/// to odd (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008, theorem 1).
inline float toFloatOdd(double value) {
  float nearest = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(nearest) == value)
    return nearest;
  if (std::isinf(nearest))
    return std::isinf(value) ? nearest : std::copysign(0x1.fffffep127f, nearest);
  uint32_t bits = floatBits(nearest);
  if (bits & 1)
    return nearest;
  // The exact value lies between two neighbours of which exactly one is odd: the other one.
  bool above = std::fabs(static_cast<double>(nearest)) > std::fabs(value);
  if ((bits & 0x7fffffff) == 0)
    return floatFromBits((std::signbit(value) ? 0x80000000u : 0) | 1);
  return floatFromBits(above ? bits - 1 : bits + 1);
}

} // namespace mpc::data
#endif
