// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One pass that divides and tests. The test looks at exponent bits, so that compilers need no rule
// about NaN to vectorize it.
#include "runtime/execution/gradient_arithmetic.h"

#include <atomic>
#include <cstring>

namespace mpc::rt {
namespace {

constexpr int64_t grain = 16384;

template <typename Float, typename Bits>
bool test(ThreadTeam &team, const Float *values, int64_t count, Bits exponent) {
  std::atomic<bool> finite{true};
  team.forRange(count, grain, [&](int64_t begin, int64_t end) {
    Bits worst = 0;
    for (int64_t i = begin; i < end; ++i) {
      Bits bits;
      std::memcpy(&bits, values + i, sizeof bits);
      worst |= (bits & exponent) == exponent;
    }
    if (worst)
      finite.store(false, std::memory_order_relaxed);
  });
  return finite;
}

template <typename Float> void divide(ThreadTeam &team, Float *values, int64_t count, Float by) {
  team.forRange(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      values[i] /= by;
  });
}

} // namespace

bool areFinite(ThreadTeam &team, mpc_rt_dtype_t dtype, const void *data, uint64_t bytes) {
  if (dtype == MPC_RT_FLOAT64)
    return test(team, static_cast<const double *>(data), static_cast<int64_t>(bytes / 8),
                uint64_t{0x7ff} << 52);
  return test(team, static_cast<const float *>(data), static_cast<int64_t>(bytes / 4),
              uint32_t{0xff} << 23);
}

bool divideGradient(ThreadTeam &team, mpc_rt_dtype_t dtype, void *data, uint64_t bytes,
                    bool divides, float divisor) {
  const bool finite = areFinite(team, dtype, data, bytes);
  if (!divides)
    return finite;
  if (dtype == MPC_RT_FLOAT64)
    divide(team, static_cast<double *>(data), static_cast<int64_t>(bytes / 8),
           static_cast<double>(divisor));
  else
    divide(team, static_cast<float *>(data), static_cast<int64_t>(bytes / 4), divisor);
  return finite;
}

} // namespace mpc::rt
