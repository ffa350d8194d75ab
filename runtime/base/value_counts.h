// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts and sums of numbers as float32, whoever counts them.
#ifndef MPC_RUNTIME_BASE_VALUE_COUNTS_H
#define MPC_RUNTIME_BASE_VALUE_COUNTS_H

#include <cstdint>

namespace mpc::rt {

// The bit patterns, as float32, that bound a format's normal numbers.
struct FormatBounds {
  uint32_t smallestNormal, largestFinite;
};

struct ValueCounts {
  uint64_t count = 0, zero = 0, subnormal = 0, infinite = 0, nan = 0, saturated = 0;
  uint64_t lost = 0; // 0 after a rounding, not 0 before it
  // Magnitudes of finite elements, as bits; the smallest of those that are not 0.
  uint32_t smallest = 0x7f800000u, largest = 0;
  double sum = 0, sumOfSquares = 0;
  uint64_t exponents[256] = {}; // by the exponent's bits, from 1 on
  uint64_t subnormals[23] = {}; // those of float32, by their highest bit
};

} // namespace mpc::rt

#endif
