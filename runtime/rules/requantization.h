// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels on int32 sums that make numbers of 8 bits of them again, which products do while they
// have a sum in a register. The compiler recognises such kernels, and writes one word of a call.
#ifndef MPC_RUNTIME_RULES_REQUANTIZATION_H
#define MPC_RUNTIME_RULES_REQUANTIZATION_H

#include <cstdint>

namespace mpc::rules {

// arguments[out] of the kernel, int8 like the result, receives of element (row, column) the lowest
// 8 bits of round(min(max(float(sum + bias[column]) * scale[column], low), high)) + offset, where
// NaN gives `low`, and halves go to the even number. arguments[bias] is int32, arguments[scale]
// float32, with a number for each element of the result's last dimension.
struct Requantization {
  static constexpr uint8_t none = 255;
  uint8_t bias = none; // none: 0
  uint8_t scale = none, out = none;
  uint8_t offset = 0;
  int16_t low = 0, high = 0;
  // With the offset they are numbers of 16 bits.
  static constexpr int16_t mostBound = 0x7F00;

  // 0 is no requantization: `scale` and `out` are different arguments.
  constexpr uint64_t word() const {
    return uint64_t{bias} | uint64_t{scale} << 8 | uint64_t{out} << 16 | uint64_t{offset} << 24 |
           uint64_t{static_cast<uint16_t>(low)} << 32 | uint64_t{static_cast<uint16_t>(high)} << 48;
  }
  static constexpr Requantization of(uint64_t word) {
    Requantization result;
    result.bias = static_cast<uint8_t>(word);
    result.scale = static_cast<uint8_t>(word >> 8);
    result.out = static_cast<uint8_t>(word >> 16);
    result.offset = static_cast<uint8_t>(word >> 24);
    result.low = static_cast<int16_t>(word >> 32);
    result.high = static_cast<int16_t>(word >> 48);
    return result;
  }
  // Whether a kernel with that many arguments, of which `sums` is the result, may have it.
  constexpr bool isValid(uint32_t arguments, uint32_t sums) const {
    return scale < arguments && out < arguments && scale != out && scale != sums && out != sums &&
           (bias == none || (bias < arguments && bias != out && bias != sums && bias != scale)) &&
           low < high && low >= -mostBound && high <= mostBound;
  }
};

} // namespace mpc::rules

#endif
