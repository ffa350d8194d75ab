// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Few rows by integer weights: what counts is how many bytes are read. The integers are read as
// they are, in tiles that lie in the order of use.
#include "runtime/drivers/cpu/contractor.h"
#include "runtime/drivers/cpu/onednn_blocks.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt {
namespace {

constexpr auto columnsOfTile = static_cast<int64_t>(tileColumns);

int64_t countTiles(const Contraction &c) { return (c.n + columnsOfTile - 1) / columnsOfTile; }
int64_t tileRow(const Contraction &c) { return c.packedRhs ? columnsOfTile / 2 : columnsOfTile; }

} // namespace

uint64_t tileBytes(const Contraction &c) {
  return static_cast<uint64_t>(countTiles(c) * c.k * tileRow(c));
}

void packTiles(ThreadTeam &team, const Contraction &c, const int8_t *rhs,
               const WeightScales *blocks, int8_t *tiles) {
  const int64_t width = tileRow(c);
  team.forRange(countTiles(c), 1, [&](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile)
      for (int64_t place = 0; place < c.k; ++place) {
        const int64_t k = blocks ? blocks->rowAt(place) : place, first = tile * columnsOfTile;
        auto numberAt = [&](int64_t n) { return n < c.n ? weightAt(c, rhs, k, n) : int8_t{0}; };
        int8_t *row = tiles + (tile * c.k + place) * width;
        for (int64_t i = 0; i < width; ++i)
          row[i] = c.packedRhs ? static_cast<int8_t>((numberAt(first + i) & 15) |
                                                     (numberAt(first + width + i) * 16))
                               : numberAt(first + i);
      }
  });
}

void widenIntegers(ThreadTeam &team, const Contraction &c, const int8_t *rhs, float *to) {
  if (!c.packedRhs) {
    team.forRange(static_cast<int64_t>(c.rhsElements()), conversionGrain,
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i)
                      to[i] = rhs[i];
                  });
    return;
  }
  team.forRange(c.k, std::max<int64_t>(conversionGrain / c.n, 1), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k)
      for (int64_t n = 0; n < c.n; ++n)
        to[k * c.n + n] = weightAt(c, rhs, k, n);
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

bool Contractor::readsTiles(const mpc_rt_contract_t &descriptor, const Contraction &c,
                            const BlockScales *scales) {
  // A kept copy in the dtype of lhs is worth its memory for many rows, if not AMX is faster still.
  constexpr int64_t mostTileRows = 32;
  if (c.rhs != MPC_RT_INT8 || c.batch != 1 || c.k == 0 || c.transposeLhs || c.accumulate ||
      !weightsConstant || descriptor.rhs_variable < 0)
    return false;
  amx::Scales found;
  return c.m <= mostTileRows ||
         (useAmx && (!scales || amx::findScales(c, findBlocks(descriptor, c, *scales), found)));
}

const float *Contractor::widenRows(const Contraction &c, const void *lhs) {
  if (c.lhs == MPC_RT_FLOAT32)
    return static_cast<const float *>(lhs);
  reserve(lhsBlock, c.lhsElements() * sizeof(float));
  float *wide = lhsBlock.floats();
  widen(c.lhs, lhs, wide, c.lhsElements());
  return wide;
}

const int8_t *Contractor::findTiles(const mpc_rt_contract_t &descriptor, const Contraction &c,
                                    TileLayout layout, const void *rhs,
                                    const WeightScales *blocks) {
  PackedWeights &kept =
      tiles[{descriptor.rhs_variable, c.k, c.n, c.transposeRhs, c.packedRhs, layout}];
  if (kept.keptVersion != weightVersion) {
    const auto *numbers = static_cast<const int8_t *>(rhs);
    auto pack = [&](uint64_t bytes, const auto &write) {
      reserve(kept.buffer, bytes);
      write(reinterpret_cast<int8_t *>(kept.buffer.data()));
    };
    switch (layout) {
    case TileLayout::vectors:
      pack(tileBytes(c), [&](int8_t *to) { packTiles(team, c, numbers, blocks, to); });
      break;
    case TileLayout::pairs:
      pack(pairBytes(c), [&](int8_t *to) { packPairs(team, c, numbers, *blocks, to); });
      break;
    case TileLayout::columns:
      pack(columnBytes(c), [&](int8_t *to) { packColumns(team, c, numbers, blocks, to); });
      break;
    case TileLayout::amx:
      pack(amx::weightBytes(c),
           [&](int8_t *to) { amx::packWeights(team, c, numbers, blocks, to); });
      break;
    case TileLayout::int8:
      pack(int8Kernel->weightBytes(c),
           [&](int8_t *to) { int8Kernel->packWeights(team, c, numbers, to); });
      break;
    }
    kept.keptVersion = weightVersion;
  }
  return reinterpret_cast<const int8_t *>(kept.buffer.data());
}

const void *Contractor::orderRows(const Contraction &c, const void *lhs,
                                  const WeightScales &blocks) {
  if (blocks.order.empty())
    return lhs;
  const auto width = static_cast<int64_t>(dtypeSize(c.lhs));
  reserve(orderedRows, c.lhsElements() * static_cast<uint64_t>(width));
  team.forRange(c.m, std::max<int64_t>(conversionGrain / c.k, 1), [&](int64_t begin, int64_t end) {
    for (int64_t m = begin; m < end; ++m) {
      const uint8_t *from = at(lhs, m * c.k, c.lhs);
      uint8_t *to = orderedRows.data() + m * c.k * width;
      for (int64_t place = 0; place < c.k; ++place)
        std::memcpy(to + place * width, from + blocks.rowAt(place) * width,
                    static_cast<size_t>(width));
    }
  });
  return orderedRows.data();
}

void Contractor::contractTiles(const mpc_rt_contract_t &descriptor, const Contraction &c,
                               const void *lhs, const void *rhs, const BlockScales *scales,
                               const void *bias, void *out) {
  const WeightScales *blocks = nullptr;
  if (scales) {
    blocks = &findBlocks(descriptor, c, *scales);
    lhs = orderRows(c, lhs, *blocks);
  }
  amx::Scales amxScales;
  const bool amx = useAmx && (!blocks || amx::findScales(c, *blocks, amxScales));
  const WeightKernel *panels = weightKernels[c.lhs];
  const ColumnKernel *columns = amx ? nullptr : findColumnKernel(c, blocks);
  // A few rows by numbers as they are: their tiles are multiplied where they are widened.
  constexpr int64_t mostStreamedRows = 4;
  const bool multipliesPanels = !amx && !columns && panels && (blocks || c.m > mostStreamedRows);
  const TileLayout layout = amx                                               ? TileLayout::amx
                            : columns                                         ? TileLayout::columns
                            : multipliesPanels && readsPairs(*panels, blocks) ? TileLayout::pairs
                                                                              : TileLayout::vectors;
  const int8_t *packed = findTiles(descriptor, c, layout, rhs, blocks);
  const float *wideBias = prepareBias(c, bias);
  if (c.out != MPC_RT_FLOAT32)
    reserve(sumBlock, c.outElements() * sizeof(float));
  auto *sums = static_cast<float *>(c.out == MPC_RT_FLOAT32 ? out : sumBlock.data());
  if (amx) {
    reserve(lhsBlock, amx::rowBytes(c));
    reserve(tileScratch, amx::scratchBytes(c) * team.threads());
    amx::packRows(team, c, lhs, lhsBlock.data());
    amx::multiply(team, c, lhsBlock.data(), packed, amxScales, sums, tileScratch.data());
  } else if (columns) {
    multiplyColumns(*columns, c, lhs, packed, blocks, sums);
  } else if (multipliesPanels) {
    multiplyPanels(*panels, c, lhs, packed, blocks, sums);
  } else if (blocks) {
    multiplyBlockTiles(team, kernels, c, widenRows(c, lhs), packed, *blocks, sums);
  } else {
    multiplyTiles(team, kernels, c, widenRows(c, lhs), packed, sums);
  }
  if (c.out != MPC_RT_FLOAT32 || c.hasBias || c.relu)
    applyEpilogue(c, sums, wideBias, out, c.m);
}

} // namespace mpc::rt
