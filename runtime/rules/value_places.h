// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the kernel that counts values on a GPU leaves what it counted: numbers of 64 bits, first
// zeros, subnormals of the format, infinities, NaN, the largest numbers and what rounding made 0,
// then elements by the bits of float32's exponent, then subnormals of float32 by their highest bit.
#ifndef MPC_RUNTIME_RULES_VALUE_PLACES_H
#define MPC_RUNTIME_RULES_VALUE_PLACES_H

namespace mpc::rules {

inline constexpr int valueCounts = 6;
// Counted from the first exponent.
inline constexpr int valueSubnormals = 256, valueBins = valueSubnormals + 23;

} // namespace mpc::rules

#endif
