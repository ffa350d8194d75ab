// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which convolutions of int8 there are.
#ifndef MPC_RUNTIME_RULES_INTEGER_WINDOWS_H
#define MPC_RUNTIME_RULES_INTEGER_WINDOWS_H

#include <cstdint>

namespace mpc::rules {

// Elements of a filter that one channel has for itself: a float32 adds as many products of a
// difference of two int8 and an int8 without rounding.
constexpr int64_t mostIntegerTaps = (int64_t{1} << 24) / (255 * 128);

// All in one group, or each channel alone, with `taps` elements of a filter in so many dimensions.
constexpr bool areIntegerGroups(int64_t groups, int64_t channels, int64_t filters, int64_t spatial,
                                int64_t taps) {
  return groups == 1 ||
         (groups == channels && groups == filters && spatial <= 2 && taps <= mostIntegerTaps);
}

} // namespace mpc::rules

#endif
