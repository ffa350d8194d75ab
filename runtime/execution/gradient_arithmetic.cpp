// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients are tested and divided in parallel.
#include "runtime/execution/gradient_arithmetic.h"
#include "runtime/base/dtype.h"
#include "runtime/base/finite.h"

#include <atomic>

namespace mpc::rt {
namespace {

constexpr int64_t grain = 16384;

template <typename Float> void divide(ThreadTeam &team, Float *values, int64_t count, Float by) {
  team.forRange(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      values[i] /= by;
  });
}

} // namespace

bool areFinite(ThreadTeam &team, mpc_rt_dtype_t dtype, const void *data, uint64_t bytes) {
  const uint64_t size = dtypeSize(dtype);
  std::atomic<bool> finite{true};
  team.forRange(static_cast<int64_t>(bytes / size), grain, [&](int64_t begin, int64_t end) {
    const auto *values = static_cast<const uint8_t *>(data) + static_cast<uint64_t>(begin) * size;
    if (!areFinite(dtype, values, static_cast<uint64_t>(end - begin)))
      finite.store(false, std::memory_order_relaxed);
  });
  return finite;
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
