// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Few rows by integer weights: what counts is how many bytes are read. The integers are read as
// they are, in tiles that lie in the order of use.
#include "runtime/base/element.h"
#include "runtime/drivers/cpu/blocking.h"
#include "runtime/drivers/cpu/contractor.h"
#include "runtime/drivers/cpu/vnni_int8.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt {
namespace {

constexpr auto columnsOfTile = static_cast<int64_t>(tileColumns);

int64_t countTiles(const Contraction &c) { return (c.n + columnsOfTile - 1) / columnsOfTile; }
int64_t tileRow(const Contraction &c) { return c.packedRhs ? columnsOfTile / 2 : columnsOfTile; }

// What addresses `columns` columns of one block, as float32 and filled up with zeros.
void loadBlock(const Contraction &c, const BlockScales &blocks, int64_t block, int64_t first,
               int64_t columns, float *zero, float *scale) {
  for (int64_t i = 0; i < columnsOfTile; ++i) {
    const int64_t place = block * c.n + first + i;
    zero[i] = i < columns ? static_cast<float>(blocks.zero[place]) : 0.0f;
    scale[i] = i < columns ? static_cast<float>(loadElement(c.lhs, blocks.scale, place)) : 0.0f;
  }
}

int8_t unpackInt4(const int8_t *row, int64_t column) {
  const int byte = row[column / 2];
  return static_cast<int8_t>(column % 2 ? byte >> 4 : (((byte & 15) ^ 8) - 8));
}

} // namespace

uint64_t tileBytes(const Contraction &c) {
  return static_cast<uint64_t>(countTiles(c) * c.k * tileRow(c));
}

void packTiles(ThreadTeam &team, const Contraction &c, const int8_t *rhs, int8_t *tiles) {
  const int64_t width = tileRow(c), stored = c.packedRhs ? (c.n + 1) / 2 : c.n;
  auto numberAt = [&](int64_t k, int64_t n) -> int8_t {
    if (n >= c.n)
      return 0;
    if (c.packedRhs)
      return unpackInt4(rhs + k * stored, n);
    return c.transposeRhs ? rhs[n * c.k + k] : rhs[k * c.n + n];
  };
  team.forRange(countTiles(c), 1, [&](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile)
      for (int64_t k = 0; k < c.k; ++k) {
        int8_t *row = tiles + (tile * c.k + k) * width;
        const int64_t first = tile * columnsOfTile;
        for (int64_t i = 0; i < width; ++i)
          row[i] = c.packedRhs ? static_cast<int8_t>((numberAt(k, first + i) & 15) |
                                                     (numberAt(k, first + width + i) * 16))
                               : numberAt(k, first + i);
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
  const int64_t stored = (c.n + 1) / 2;
  team.forRange(c.k, std::max<int64_t>(conversionGrain / c.n, 1), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k)
      for (int64_t n = 0; n < c.n; ++n)
        to[k * c.n + n] = unpackInt4(rhs + k * stored, n);
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
                        const float *rows, const int8_t *tiles, const BlockScales &blocks,
                        float *sums) {
  constexpr int64_t lines = 8; // rows of weights that addProducts takes at once
  const int64_t bytes = c.k * tileRow(c);
  team.forRange(
      countTiles(c), std::max<int64_t>(65536 / bytes, 1), [&](int64_t begin, int64_t end) {
        alignas(64) float weights[lines][tileColumns], zero[tileColumns], scale[tileColumns];
        for (int64_t tile = begin; tile < end; ++tile) {
          const int64_t first = tile * columnsOfTile;
          const int64_t columns = std::min(columnsOfTile, c.n - first);
          for (int64_t m = 0; m < c.m; ++m)
            std::fill_n(sums + m * c.n + first, columns, 0.0f);
          int64_t block = -1;
          for (int64_t k = 0; k < c.k; k += lines) {
            const int64_t height = std::min(lines, c.k - k);
            for (int64_t line = 0; line < height; ++line) {
              if (block != blocks.blockOf(k + line)) {
                block = blocks.blockOf(k + line);
                loadBlock(c, blocks, block, first, columns, zero, scale);
              }
              kernels.scaleInt4[c.lhs](tiles + tile * bytes + (k + line) * tileRow(c), zero, scale,
                                       weights[line]);
            }
            for (int64_t m = 0; m < c.m; ++m)
              kernels.addProducts[MPC_RT_FLOAT32](
                  rows + m * c.k + k, weights, tileColumns, static_cast<size_t>(height),
                  sums + m * c.n + first, static_cast<size_t>(columns));
          }
        }
      });
}

bool Contractor::readsTiles(const mpc_rt_contract_t &descriptor, const Contraction &c) const {
  // oneDNN's kept copy in float32 is worth its memory for many rows.
  constexpr int64_t mostTileRows = 32;
  return c.rhs == MPC_RT_INT8 && c.batch == 1 && (useAmx || c.m <= mostTileRows) && c.k > 0 &&
         !c.transposeLhs && !c.accumulate && weightsConstant && descriptor.rhs_variable >= 0;
}

const float *Contractor::widenRows(const Contraction &c, const void *lhs) {
  if (c.lhs == MPC_RT_FLOAT32)
    return static_cast<const float *>(lhs);
  reserve(lhsBlock, c.lhsElements() * sizeof(float));
  auto *wide = reinterpret_cast<float *>(lhsBlock.data());
  widen(c.lhs, lhs, wide, c.lhsElements());
  return wide;
}

const int8_t *Contractor::findTiles(const mpc_rt_contract_t &descriptor, const Contraction &c,
                                    TileLayout layout, const void *rhs) {
  PackedWeights &kept =
      tiles[{descriptor.rhs_variable, c.k, c.n, c.transposeRhs, c.packedRhs, layout}];
  if (kept.keptVersion != weightVersion) {
    const bool amx = layout == TileLayout::amx, vnni = layout == TileLayout::vnni;
    reserve(kept.buffer, (amx ? amx::weightBytes : vnni ? vnni::weightBytes : tileBytes)(c));
    (amx    ? amx::packWeights
     : vnni ? vnni::packWeights
            : packTiles)(team, c, static_cast<const int8_t *>(rhs),
                         reinterpret_cast<int8_t *>(kept.buffer.data()));
    kept.keptVersion = weightVersion;
  }
  return reinterpret_cast<const int8_t *>(kept.buffer.data());
}

void Contractor::contractTiles(const mpc_rt_contract_t &descriptor, const Contraction &c,
                               const void *lhs, const void *rhs, const BlockScales *blocks,
                               const void *bias, void *out) {
  amx::Scales scales;
  const bool amx = useAmx && (!blocks || amx::findScales(c, *blocks, scales));
  const int8_t *packed = findTiles(descriptor, c, amx ? TileLayout::amx : TileLayout::vectors, rhs);
  const float *wideBias = prepareBias(c, bias);
  if (c.out != MPC_RT_FLOAT32)
    reserve(sumBlock, c.outElements() * sizeof(float));
  auto *sums = static_cast<float *>(c.out == MPC_RT_FLOAT32 ? out : sumBlock.data());
  // A few rows by numbers as they are: their tiles are multiplied where they are widened.
  constexpr int64_t mostStreamedRows = 4;
  const WeightKernel *panels = weightKernels[c.lhs];
  if (amx) {
    reserve(lhsBlock, amx::rowBytes(c));
    reserve(tileScratch, amx::scratchBytes(c) * team.threads());
    amx::packRows(team, c, lhs, lhsBlock.data());
    amx::multiply(team, c, lhsBlock.data(), packed, scales, sums, tileScratch.data());
  } else if (panels && (blocks || c.m > mostStreamedRows)) {
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
