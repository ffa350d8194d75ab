// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products that touch float64, which oneDNN does not know: rows in parallel, columns in blocks
// whose sums stay in cache, sums in float64.
#include "runtime/base/dtype.h"
#include "runtime/base/rounding.h"
#include "runtime/drivers/cpu/contractor.h"

#include <algorithm>

namespace mpc::rt {
namespace {

double load(mpc_rt_dtype_t dtype, const void *base, int64_t i) {
  switch (dtype) {
  case MPC_RT_FLOAT64:
    return static_cast<const double *>(base)[i];
  case MPC_RT_FLOAT32:
    return static_cast<const float *>(base)[i];
  case MPC_RT_BFLOAT16:
    return widenBFloat16(static_cast<const uint16_t *>(base)[i]);
  default:
    return widenFloat16(static_cast<const uint16_t *>(base)[i]);
  }
}

// Through float32 first: the contract's sums of narrower types are float32 sums, so the second
// rounding is the contract's own.
void store(mpc_rt_dtype_t dtype, void *base, int64_t i, double value) {
  switch (dtype) {
  case MPC_RT_FLOAT64:
    static_cast<double *>(base)[i] = value;
    return;
  case MPC_RT_FLOAT32:
    static_cast<float *>(base)[i] = static_cast<float>(value);
    return;
  case MPC_RT_BFLOAT16:
    static_cast<uint16_t *>(base)[i] = roundToBFloat16(static_cast<float>(value));
    return;
  default:
    static_cast<uint16_t *>(base)[i] = roundToFloat16(static_cast<float>(value));
  }
}

double rounded(mpc_rt_dtype_t dtype, double value) {
  double result;
  store(dtype, &result, 0, value);
  return load(dtype, &result, 0);
}

constexpr int64_t nBlock = 256; // columns whose sums stay in the first-level cache

} // namespace

void contractFloat64(ThreadTeam &team, const Contraction &c, const void *lhs, const void *rhs,
                     const void *bias, void *out) {
  int64_t rowWork = std::max<int64_t>(c.n * c.k, 1);
  int64_t grain = std::max<int64_t>(1, 32768 / rowWork);
  team.forRange(c.batch * c.m, grain, [&](int64_t begin, int64_t end) {
    double sums[nBlock];
    for (int64_t row = begin; row < end; ++row) {
      int64_t b = row / c.m, m = row % c.m;
      for (int64_t n0 = 0; n0 < c.n; n0 += nBlock) {
        int64_t width = std::min(nBlock, c.n - n0);
        std::fill_n(sums, width, 0.0);
        for (int64_t k = 0; k < c.k; ++k) {
          double a = load(c.lhs, lhs, b * c.m * c.k + (c.transposeLhs ? k * c.m + m : m * c.k + k));
          int64_t base = b * c.k * c.n;
          if (c.rhs == MPC_RT_FLOAT64 && !c.transposeRhs) {
            const double *panel = static_cast<const double *>(rhs) + base + k * c.n + n0;
            for (int64_t n = 0; n < width; ++n)
              sums[n] += a * panel[n];
          } else {
            for (int64_t n = 0; n < width; ++n)
              sums[n] += a * load(c.rhs, rhs,
                                  base + (c.transposeRhs ? (n0 + n) * c.k + k : k * c.n + n0 + n));
          }
        }
        for (int64_t n = 0; n < width; ++n) {
          double value = rounded(c.out, sums[n]);
          if (c.hasBias)
            value = rounded(c.out, value + load(c.bias, bias, n0 + n));
          if (c.relu)
            value = value < 0.0 ? 0.0 : value;
          int64_t position = row * c.n + n0 + n;
          if (c.accumulate)
            value += load(c.out, out, position);
          store(c.out, out, position, value);
        }
      }
    }
  });
}

} // namespace mpc::rt
