// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// float16 and bfloat16 as types of their own, so that code can be chosen by them.
#ifndef MPC_RUNTIME_DATA_HALF_H
#define MPC_RUNTIME_DATA_HALF_H

#include "runtime/base/rounding.h"

#include <cmath>
#include <cstdint>

namespace mpc::data {

struct Float16 {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

inline float toFloat(BFloat16 value) { return rt::widenBFloat16(value.bits); }
inline float toFloat(Float16 value) { return rt::widenFloat16(value.bits); }

template <typename T> T fromFloat(float value);
template <> inline BFloat16 fromFloat<BFloat16>(float value) {
  return {rt::roundToBFloat16(value)};
}
template <> inline Float16 fromFloat<Float16>(float value) { return {rt::roundToFloat16(value)}; }

/// A float32 from which rounding to a 16-bit type gives what rounding `value` itself would: rounded
/// to odd (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008, theorem 1).
inline float toFloatOdd(double value) {
  float nearest = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(nearest) == value)
    return nearest;
  if (std::isinf(nearest))
    return std::isinf(value) ? nearest : std::copysign(0x1.fffffep127f, nearest);
  uint32_t bits = rt::bitsOf(nearest);
  if (bits & 1)
    return nearest;
  // The exact value lies between two neighbours of which exactly one is odd: the other one.
  bool above = std::fabs(static_cast<double>(nearest)) > std::fabs(value);
  if ((bits & 0x7fffffff) == 0)
    return rt::floatOf((std::signbit(value) ? 0x80000000u : 0) | 1);
  return rt::floatOf(above ? bits - 1 : bits + 1);
}

} // namespace mpc::data
#endif
