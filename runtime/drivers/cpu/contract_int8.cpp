// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of int8 into int32: rows in parallel, columns in blocks whose sums stay in cache.
#include "runtime/drivers/cpu/contractor.h"

#include <algorithm>

namespace mpc::rt {
namespace {

constexpr int64_t columnBlock = 256; // columns whose sums stay in the first-level cache

// Unsigned, so that overflow wraps around.
void addRow(uint32_t *sums, int32_t factor, const int8_t *row, int64_t count) {
  for (int64_t n = 0; n < count; ++n)
    sums[n] += static_cast<uint32_t>(factor * row[n]);
}

} // namespace

void contractInt8(ThreadTeam &team, const Contraction &c, const int8_t *lhs, const int8_t *rhs,
                  int32_t *out) {
  int64_t rowWork = std::max<int64_t>(c.n * c.k, 1);
  int64_t grain = std::max<int64_t>(1, 65536 / rowWork);
  team.forRange(c.batch * c.m, grain, [&](int64_t begin, int64_t end) {
    uint32_t sums[columnBlock];
    for (int64_t row = begin; row < end; ++row) {
      int64_t b = row / c.m, m = row % c.m;
      const int8_t *left = lhs + b * c.m * c.k + (c.transposeLhs ? m : m * c.k);
      const int64_t step = c.transposeLhs ? c.m : 1;
      const int8_t *right = rhs + b * c.k * c.n;
      for (int64_t n0 = 0; n0 < c.n; n0 += columnBlock) {
        int64_t width = std::min(columnBlock, c.n - n0);
        std::fill_n(sums, width, 0u);
        if (c.transposeRhs) {
          for (int64_t n = 0; n < width; ++n) {
            const int8_t *column = right + (n0 + n) * c.k;
            for (int64_t k = 0; k < c.k; ++k)
              sums[n] += static_cast<uint32_t>(left[k * step] * column[k]);
          }
        } else {
          for (int64_t k = 0; k < c.k; ++k)
            addRow(sums, left[k * step], right + k * c.n + n0, width);
        }
        int32_t *target = out + row * c.n + n0;
        for (int64_t n = 0; n < width; ++n)
          target[n] = static_cast<int32_t>(sums[n] +
                                           (c.accumulate ? static_cast<uint32_t>(target[n]) : 0u));
      }
    }
  });
}

} // namespace mpc::rt
