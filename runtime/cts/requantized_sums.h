// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Requantizations by plain loops, which drivers may do in registers instead.
#ifndef MPC_RUNTIME_CTS_REQUANTIZED_SUMS_H
#define MPC_RUNTIME_CTS_REQUANTIZED_SUMS_H

#include "runtime/base/philox.h"
#include "runtime/drivers/result_kernel.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace mpc::rt::cts {

// A kernel of sums with `columns` in a row, drawn by `seed`: with a bias or none, other bounds and
// offsets, scales that saturate, are NaN or round halves.
class RequantizedCase {
public:
  RequantizedCase(size_t elements, int64_t columns, uint32_t seed)
      : columns(columns), out(elements, int8_t{77}) {
    uint32_t next = 0;
    const auto draw = [&](uint32_t bound) {
      return philox({{seed, next++, 1, 0}}, 23, 0).word[0] % bound;
    };
    constexpr float special[] = {0.5f,   std::numeric_limits<float>::quiet_NaN(),
                                 1e30f,  -std::numeric_limits<float>::infinity(),
                                 -0.25f, 0.0f};
    for (int64_t i = 0; i < columns; ++i) {
      bias.push_back(static_cast<int32_t>(draw(1 << 20)) - (1 << 19));
      scales.push_back(draw(8) ? static_cast<float>(1 + draw(1000)) * 1e-5f : special[draw(6)]);
    }
    rule.scale = 0, rule.out = 3;
    rule.bias = draw(3) ? uint8_t{1} : rule.none;
    const bool isUnsigned = draw(2);
    rule.low = isUnsigned ? 0 : -128 - static_cast<int16_t>(draw(2) * 100);
    rule.high = isUnsigned ? 255 : 127;
    rule.offset = static_cast<uint8_t>(draw(2) ? 128 : draw(256));
  }

  // `sums`: the address of the result, or null where it has none. The kernel counts its calls.
  ResultKernel kernel(void *sums) {
    arguments[0] = scales.data(), arguments[1] = bias.data(), arguments[2] = sums;
    arguments[3] = out.data(), arguments[4] = this;
    return {run, arguments, 5, 2, 11, rule.word()};
  }
  std::vector<int8_t> expected(const int32_t *sums) const {
    std::vector<int8_t> result(out.size());
    for (size_t i = 0; i < result.size(); ++i)
      result[i] = at(static_cast<int64_t>(i), sums[i]);
    return result;
  }

  rules::Requantization rule;
  const int64_t columns;
  std::vector<int8_t> out;
  int64_t calls = 0;

private:
  static void run(void *const *arguments, int64_t begin, int64_t end) {
    auto &own = *static_cast<RequantizedCase *>(arguments[4]);
    const auto *sums = static_cast<const int32_t *>(arguments[2]);
    __atomic_fetch_add(&own.calls, 1, __ATOMIC_RELAXED);
    for (int64_t i = begin; i < end; ++i)
      own.out[static_cast<size_t>(i)] = own.at(i, sums[i]);
  }
  int8_t at(int64_t i, int32_t sum) const {
    const auto column = static_cast<size_t>(i % columns);
    const uint32_t added = rule.bias == rule.none ? 0 : static_cast<uint32_t>(bias[column]);
    const auto whole = static_cast<int32_t>(static_cast<uint32_t>(sum) + added);
    const float scaled = static_cast<float>(whole) * scales[column];
    const auto low = static_cast<float>(rule.low), high = static_cast<float>(rule.high);
    const float above = scaled > low ? scaled : low;
    const auto rounded = static_cast<int32_t>(std::nearbyint(above < high ? above : high));
    return static_cast<int8_t>(static_cast<uint8_t>(rounded + rule.offset));
  }

  std::vector<int32_t> bias;
  std::vector<float> scales;
  void *arguments[5] = {};
};

} // namespace mpc::rt::cts

#endif
