// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A few rows by 4-bit weights in blocks: what takes the time is to make numbers of them. A block of
// a column has 16 different weights, which are made once and looked up, 32 at a time: weights of
// one column follow each other here, and lanes are summed at its end.
#include "runtime/drivers/cpu/blocking.h"
#include "runtime/drivers/cpu/contractor.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt {
namespace {

int64_t chunksOf(const Contraction &c) { return ceilDivide(c.k, columnChunk); }

} // namespace

int64_t stepsOfBlocks(const std::vector<int32_t> &blockOfRow) {
  const auto count = static_cast<int64_t>(blockOfRow.size());
  const int32_t *of = blockOfRow.data();
  int64_t rows = std::find_if(of, of + count, [&](int32_t block) { return block != *of; }) - of;
  if (rows == count)
    rows = ceilDivide(count, columnStep) * columnStep;
  if (rows % columnStep)
    return 0;
  for (int64_t row = 0; row < count; ++row) {
    const bool begins = row % rows == 0;
    if (row && begins == (of[row] == of[row - 1]))
      return 0;
  }
  return rows / columnStep;
}

uint64_t columnBytes(const Contraction &c) {
  return static_cast<uint64_t>(c.n * chunksOf(c) * columnChunk / 2);
}

void packColumns(ThreadTeam &team, const Contraction &c, const int8_t *rhs,
                 const BlockWeights &blocks, int8_t *to) {
  const int64_t chunks = chunksOf(c);
  team.forRange(c.n, std::max<int64_t>(conversionGrain / c.k, 1), [&](int64_t begin, int64_t end) {
    for (int64_t column = begin; column < end; ++column)
      for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        uint16_t words[columnStep] = {};
        for (int64_t i = 0; i < std::min(columnChunk, c.k - chunk * columnChunk); ++i) {
          const int number = weightAt(c, rhs, blocks.rowAt(chunk * columnChunk + i), column) & 15;
          words[i % columnStep] |= static_cast<uint16_t>(number << (i / columnStep * 4));
        }
        std::memcpy(to + (column * chunks + chunk) * (columnChunk / 2), words, sizeof(words));
      }
  });
}

void Contractor::multiplyColumns(const WeightKernel &weights, const Contraction &c, const void *lhs,
                                 const int8_t *columns, const BlockWeights &blocks, float *sums) {
  const int64_t steps = ceilDivide(c.k, columnStep), stride = steps * columnStep;
  reserve(lhsBlock, static_cast<uint64_t>(c.m * stride) * sizeof(uint16_t));
  auto *rows = reinterpret_cast<uint16_t *>(lhsBlock.data());
  for (int64_t m = 0; m < c.m; ++m) {
    std::memcpy(rows + m * stride, at(lhs, m * c.k, c.lhs),
                static_cast<size_t>(c.k) * sizeof(uint16_t));
    std::fill(rows + m * stride + c.k, rows + (m + 1) * stride, uint16_t{0});
  }
  constexpr int64_t rowsAtOnce = ColumnWork::mostRows, together = ColumnWork::columns;
  constexpr auto ofTile = static_cast<int64_t>(tileColumns);
  const int64_t bytes = chunksOf(c) * columnChunk / 2;
  team.forRange(ceilDivide(c.n, together), std::max<int64_t>(65536 / (together * bytes), 1),
                [&](int64_t begin, int64_t end) {
                  for (int64_t n = begin * together; n < std::min(end * together, c.n);
                       n += together) {
                    ColumnWork work{columns + n * bytes,
                                    bytes,
                                    std::min(together, c.n - n),
                                    blocks.adjustmentsOf(n / ofTile) + n % ofTile,
                                    blocks.blockOfRow.data(),
                                    steps,
                                    blocks.blockSteps,
                                    rows,
                                    stride,
                                    sums + n,
                                    c.n};
                    for (int64_t m = 0; m < c.m; m += rowsAtOnce) {
                      weights.columns[std::min(rowsAtOnce, c.m - m) - 1](work);
                      work.lhs += rowsAtOnce * stride;
                      work.sums += rowsAtOnce * c.n;
                    }
                  }
                });
}

} // namespace mpc::rt
