// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The test whether numbers are finite. It looks at exponent bits, so that compilers need no rule
// about NaN to vectorize it.
#ifndef MPC_RUNTIME_BASE_FINITE_H
#define MPC_RUNTIME_BASE_FINITE_H

#include "mpc-rt/dtype.h"

#include <cstdint>
#include <cstring>

namespace mpc::rt {

// Whether each of `count` numbers has an exponent below the largest one.
template <typename Bits>
bool areExponentsFinite(const void *values, uint64_t count, Bits exponent) noexcept {
  const auto *bytes = static_cast<const uint8_t *>(values);
  Bits worst = 0;
  for (uint64_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, bytes + i * sizeof bits, sizeof bits);
    worst |= static_cast<Bits>((bits & exponent) == exponent);
  }
  return worst == 0;
}

// True for dtypes that have neither infinities nor NaN.
inline bool areFinite(mpc_rt_dtype_t dtype, const void *values, uint64_t count) noexcept {
  switch (dtype) {
  case MPC_RT_FLOAT16:
    return areExponentsFinite<uint16_t>(values, count, 0x7c00);
  case MPC_RT_BFLOAT16:
    return areExponentsFinite<uint16_t>(values, count, 0x7f80);
  case MPC_RT_FLOAT32:
    return areExponentsFinite<uint32_t>(values, count, 0x7f800000);
  case MPC_RT_FLOAT64:
    return areExponentsFinite<uint64_t>(values, count, 0x7ff0000000000000);
  default:
    return true;
  }
}

} // namespace mpc::rt

#endif
