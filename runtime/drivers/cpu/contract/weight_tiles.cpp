// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Few rows by integer weights: what counts is how many bytes are read. The integers are read as
// they are, in tiles that lie in the order of use.
#include "runtime/drivers/cpu/contract/integer_weights.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"

#include <algorithm>

namespace mpc::rt {
namespace {

constexpr auto columnsOfTile = static_cast<int64_t>(tileColumns);

int64_t countTiles(const Contraction &c) { return (c.n + columnsOfTile - 1) / columnsOfTile; }
int64_t tileRow(const Contraction &c) { return c.packedRhs ? columnsOfTile / 2 : columnsOfTile; }

uint64_t tileBytes(const Contraction &c) {
  return static_cast<uint64_t>(countTiles(c) * c.k * tileRow(c));
}

void packTiles(ThreadTeam &team, const Contraction &c, const int8_t *rhs,
               const WeightScales *blocks, int8_t *tiles) {
  const int64_t width = tileRow(c);
  team.forRange(countTiles(c), 1, [&](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile)
      for (int64_t index = 0; index < c.k; ++index) {
        const int64_t k = blocks ? blocks->rowAt(index) : index, first = tile * columnsOfTile;
        auto numberAt = [&](int64_t n) { return n < c.n ? weightAt(c, rhs, k, n) : int8_t{0}; };
        int8_t *row = tiles + (tile * c.k + index) * width;
        for (int64_t i = 0; i < width; ++i)
          row[i] = c.packedRhs ? static_cast<int8_t>((numberAt(first + i) & 15) |
                                                     (numberAt(first + width + i) * 16))
                               : numberAt(first + i);
      }
  });
}

void multiplyTiles(ThreadTeam &team, const VectorKernels &kernels, const Contraction &c,
                   const float *rows, const int8_t *tiles, float *sums) {
  const MultiplyTile multiply = c.packedRhs ? kernels.multiplyInt4 : kernels.multiplyInt8;
  const int64_t bytes = c.k * tileRow(c);
  team.forRange(countTiles(c), std::max<int64_t>(65536 / bytes, 1),
                [&](int64_t begin, int64_t end) {
                  for (int64_t tile = begin; tile < end; ++tile) {
                    const int64_t first = tile * columnsOfTile;
                    multiply(tiles + tile * bytes, static_cast<size_t>(c.k), rows,
                             static_cast<size_t>(c.m), sums + first, static_cast<size_t>(c.n),
                             static_cast<size_t>(std::min(columnsOfTile, c.n - first)));
                  }
                });
}

// Multiplies weights with scales: every few of them become float32 in the first-level cache.
void multiplyBlockTiles(ThreadTeam &team, const VectorKernels &kernels, const Contraction &c,
                        const float *rows, const int8_t *tiles, const WeightScales &blocks,
                        float *sums) {
  constexpr int64_t lines = 8; // rows of weights that addProducts takes at once
  const int64_t bytes = c.k * tileRow(c);
  team.forRange(countTiles(c), std::max<int64_t>(65536 / bytes, 1),
                [&](int64_t begin, int64_t end) {
                  alignas(64) float weights[lines][tileColumns];
                  for (int64_t tile = begin; tile < end; ++tile) {
                    const int64_t first = tile * columnsOfTile;
                    const int64_t columns = std::min(columnsOfTile, c.n - first);
                    for (int64_t m = 0; m < c.m; ++m)
                      std::fill_n(sums + m * c.n + first, columns, 0.0f);
                    for (int64_t k = 0; k < c.k; k += lines) {
                      const int64_t height = std::min(lines, c.k - k);
                      for (int64_t line = 0; line < height; ++line) {
                        const auto row = static_cast<size_t>(k + line);
                        const float *zero =
                            blocks.adjustmentsOf(tile) + blocks.blockOfRow[row] * 2 * columnsOfTile;
                        kernels.scaleInt4[c.lhs](tiles + tile * bytes + (k + line) * tileRow(c),
                                                 zero, zero + columnsOfTile, weights[line]);
                        if (!blocks.divisors.empty())
                          kernels.divideWeights[c.lhs](blocks.divisors[row], weights[line]);
                      }
                      for (int64_t m = 0; m < c.m; ++m)
                        kernels.addProducts[MPC_RT_FLOAT32](
                            rows + m * c.k + k, weights, tileColumns, static_cast<size_t>(height),
                            sums + m * c.n + first, static_cast<size_t>(columns));
                    }
                  }
                });
}

} // namespace

const int8_t *IntegerWeights::findVectorTiles(const mpc_rt_contract_t &descriptor,
                                              const Contraction &c, const int8_t *rhs,
                                              const WeightScales *blocks) {
  return findTiles(descriptor, c, rhs, Layout::vectors, tileBytes(c),
                   [&](int8_t *to) { packTiles(team, c, rhs, blocks, to); });
}

void IntegerWeights::multiplyVectors(const mpc_rt_contract_t &descriptor, const Contraction &c,
                                     const void *lhs, const int8_t *rhs, const WeightScales *blocks,
                                     float *sums) {
  const int8_t *numbers = findVectorTiles(descriptor, c, rhs, blocks);
  const float *rows = widenRows(c, lhs);
  if (!sums)
    return;
  if (blocks)
    multiplyBlockTiles(team, kernels, c, rows, numbers, *blocks, sums);
  else
    multiplyTiles(team, kernels, c, rows, numbers, sums);
}

} // namespace mpc::rt
