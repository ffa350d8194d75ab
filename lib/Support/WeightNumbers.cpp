// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads floating elements as double.
#include "mpc/Support/WeightNumbers.h"
#include <cmath>
#include <cstring>
#include <limits>

namespace {

double fromFloat16(uint16_t bits) {
  const double sign = bits & 0x8000 ? -1 : 1;
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent == 31)
    return fraction ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  return sign *
         (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

double fromBfloat16(uint16_t bits) {
  const uint32_t wide = uint32_t(bits) << 16;
  float number;
  std::memcpy(&number, &wide, sizeof number);
  return number;
}

template <typename Stored, typename Read>
std::vector<double> read(const std::vector<uint8_t> &bytes, Read toDouble) {
  std::vector<double> numbers(bytes.size() / sizeof(Stored));
  for (size_t i = 0; i < numbers.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    numbers[i] = toDouble(stored);
  }
  return numbers;
}

} // namespace

std::vector<double> mpc::numbersOf(const Weight &weight) {
  switch (weight.dtype) {
  case MPC_RT_FLOAT16:
    return read<uint16_t>(weight.bytes, fromFloat16);
  case MPC_RT_BFLOAT16:
    return read<uint16_t>(weight.bytes, fromBfloat16);
  case MPC_RT_FLOAT32:
    return read<float>(weight.bytes, [](float number) { return double(number); });
  case MPC_RT_FLOAT64:
    return read<double>(weight.bytes, [](double number) { return number; });
  default:
    return {};
  }
}
