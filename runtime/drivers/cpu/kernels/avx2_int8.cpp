// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of int8 on AVX2: VPMADDWD adds two products of int16, which is exact where VPMADDUBSW,
// which multiplies bytes, saturates. Rows are widened before, weights where they are read, so that
// these take a byte from memory. Six rows by two vectors of columns fill the registers.
#include "runtime/drivers/cpu/kernels/int8_kernel.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"

#include <algorithm>
#include <cstring>
#include <immintrin.h>

#define MPC_AVX2 __attribute__((target("avx2")))

namespace mpc::rt {
namespace avx2_int8 {
namespace {

constexpr int64_t lanes = 8, stripColumns = 2 * lanes, stepRows = 2;
constexpr int64_t stepBytes = stripColumns * stepRows, panelRows = 6;
// Rows that a thread takes of a strip before another thread may take the next ones.
constexpr int64_t blockRows = 8 * panelRows;

int64_t stepsOf(const Int8Pieces &pieces) { return ceilDivide(pieces.length, stepRows); }
int64_t stripBytes(const Int8Pieces &pieces) { return pieces.count * stepsOf(pieces) * stepBytes; }
int64_t stripsOf(int64_t columns) { return ceilDivide(columns, stripColumns); }

// Up to panelRows rows by one strip.
struct Tile {
  const Int8Pieces &pieces;
  const uint8_t *const *lanes;
  const int8_t *weights;
  int32_t *out;
  int64_t outStride, columns;
};

MPC_AVX2 inline void store(int32_t *row, int64_t columns, int v, __m256i sums) {
  const int64_t count = columns - lanes * v;
  if (count >= lanes) {
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(row + lanes * v), sums);
  } else if (count > 0) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int32_t>(count)), lane);
    _mm256_maskstore_epi32(row + lanes * v, mask, sums);
  }
}

// The loops are unrolled for the sums to stay in registers. Of an odd piece the last step reads one
// number behind it, which meets a weight of zero.
template <int rows, int vectors> MPC_AVX2 void multiplyTile(const Tile &tile) {
  __m256i sums[rows][vectors];
#pragma clang loop unroll(full)
  for (int r = 0; r < rows; ++r)
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v)
      sums[r][v] = _mm256_setzero_si256();
  const int8_t *weights = tile.weights;
  const int64_t steps = stepsOf(tile.pieces);
  for (int64_t piece = 0; piece < tile.pieces.count; ++piece) {
    const uint8_t *from[rows];
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; ++r)
      from[r] = tile.lanes[r] + tile.pieces.offsets[piece];
    for (int64_t step = 0; step < steps; ++step, weights += stepBytes) {
      __m256i row[vectors];
#pragma clang loop unroll(full)
      for (int v = 0; v < vectors; ++v)
        row[v] = _mm256_cvtepi8_epi16(
            _mm_loadu_si128(reinterpret_cast<const __m128i *>(weights + 16 * v)));
#pragma clang loop unroll(full)
      for (int r = 0; r < rows; ++r) {
        int32_t pair;
        std::memcpy(&pair, from[r] + step * int64_t{sizeof(pair)}, sizeof(pair));
        const __m256i factors = _mm256_set1_epi32(pair);
#pragma clang loop unroll(full)
        for (int v = 0; v < vectors; ++v)
          sums[r][v] = _mm256_add_epi32(sums[r][v], _mm256_madd_epi16(row[v], factors));
      }
    }
  }
#pragma clang loop unroll(full)
  for (int r = 0; r < rows; ++r)
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v)
      store(tile.out + r * tile.outStride, tile.columns, v, sums[r][v]);
}

template <int vectors>
constexpr void (*byRows[])(const Tile &) = {multiplyTile<1, vectors>, multiplyTile<2, vectors>,
                                            multiplyTile<3, vectors>, multiplyTile<4, vectors>,
                                            multiplyTile<5, vectors>, multiplyTile<6, vectors>};

// Rows of one strip.
void multiplyStrip(const Int8Pieces &pieces, int64_t rows, int64_t columns, const int8_t *weights,
                   int64_t strip, int32_t *out) {
  const int64_t column = strip * stripColumns, count = std::min(stripColumns, columns - column);
  const auto &multiplyRows = count > lanes ? byRows<2> : byRows<1>;
  for (int64_t row = 0; row < rows; row += panelRows)
    multiplyRows[std::min(panelRows, rows - row) - 1](
        {pieces, pieces.lanes + row, weights + strip * stripBytes(pieces),
         out + row * columns + column, columns, count});
}

// ---- Pieces -------------------------------------------------------------------------------------

MPC_AVX2 void widen(const int8_t *numbers, int64_t count, uint8_t *to) {
  auto *wide = reinterpret_cast<int16_t *>(to);
  for (int64_t i = 0; i < count; ++i)
    wide[i] = numbers[i];
}

uint64_t weightBytes(const Int8Pieces &pieces, int64_t columns) {
  return static_cast<uint64_t>(stripsOf(columns) * stripBytes(pieces));
}

// Weights [depth, columns], or transposed.
void packStrips(ThreadTeam &team, const Int8Pieces &pieces, int64_t columns, bool isTransposed,
                const int8_t *rhs, int8_t *to) {
  const int64_t steps = stepsOf(pieces), depth = pieces.depth();
  team.forRange(stripsOf(columns), 1, [&](int64_t begin, int64_t end) {
    std::memset(to + begin * stripBytes(pieces), 0,
                static_cast<size_t>((end - begin) * stripBytes(pieces)));
    for (int64_t column = begin * stripColumns; column < std::min(end * stripColumns, columns);
         ++column) {
      int8_t *strip =
          to + column / stripColumns * stripBytes(pieces) + column % stripColumns * stepRows;
      for (int64_t piece = 0; piece < pieces.count; ++piece)
        for (int64_t i = 0; i < pieces.length; ++i) {
          const int64_t k = piece * pieces.length + i;
          strip[(piece * steps + i / stepRows) * stepBytes + i % stepRows] =
              isTransposed ? rhs[column * depth + k] : rhs[k * columns + column];
        }
    }
  });
}

void packPieces(ThreadTeam &team, const Int8Pieces &pieces, int64_t columns, const int8_t *rhs,
                int8_t *to) {
  packStrips(team, pieces, columns, /*isTransposed=*/false, rhs, to);
}

void multiplyPieces(const Int8Pieces &pieces, int64_t rows, int64_t columns, const int8_t *weights,
                    int32_t *out) {
  for (int64_t strip = 0; strip < stripsOf(columns); ++strip)
    multiplyStrip(pieces, rows, columns, weights, strip, out);
}

// ---- Matrices -----------------------------------------------------------------------------------

constexpr int64_t noOffset = 0;

// A row is one piece.
Int8Pieces rowPieces(const Contraction &c, const uint8_t *const *rows) {
  return {rows, &noOffset, 1, c.k};
}

int64_t rowBytes(const Contraction &c) {
  return ceilDivide(c.k, stepRows) * stepRows * static_cast<int64_t>(sizeof(int16_t));
}

uint64_t matrixBytes(const Contraction &c) { return weightBytes(rowPieces(c, nullptr), c.n); }

void packMatrix(ThreadTeam &team, const Contraction &c, const int8_t *rhs, int8_t *to) {
  packStrips(team, rowPieces(c, nullptr), c.n, c.transposeRhs, rhs, to);
}

// The widened rows, and where each of them begins.
uint64_t scratchBytes(const Contraction &c) {
  return static_cast<uint64_t>(c.m * (rowBytes(c) + static_cast<int64_t>(sizeof(uint8_t *))));
}

void multiplyMatrix(ThreadTeam &team, const Contraction &c, const int8_t *lhs,
                    const int8_t *weights, void *scratch, int32_t *out) {
  constexpr int64_t fewestProducts = 1 << 18; // for a thread
  auto **rows = static_cast<const uint8_t **>(scratch);
  auto *wide = reinterpret_cast<uint8_t *>(rows + c.m);
  team.forRange(c.m, std::max<int64_t>(fewestProducts / c.k, 1), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      rows[row] = wide + row * rowBytes(c);
      widen(lhs + row * c.k, c.k, wide + row * rowBytes(c));
      if (c.k % stepRows)
        std::memset(wide + row * rowBytes(c) + c.k * 2, 0, sizeof(int16_t));
    }
  });
  const int64_t blocks = ceilDivide(c.m, blockRows);
  const int64_t products = std::min(c.m, blockRows) * c.k * stripColumns;
  team.forRange(stripsOf(c.n) * blocks, std::max<int64_t>(fewestProducts / products, 1),
                [&](int64_t begin, int64_t end) {
                  for (int64_t index = begin; index < end; ++index) {
                    const int64_t first = index % blocks * blockRows;
                    multiplyStrip(rowPieces(c, rows + first), std::min(blockRows, c.m - first), c.n,
                                  weights, index / blocks, out + first * c.n);
                  }
                });
}

constexpr Int8PieceKernel pieces = {
    {sizeof(int16_t), widen}, weightBytes, packPieces, multiplyPieces};

} // namespace
} // namespace avx2_int8

const Int8Kernel avx2Int8 = {"avx2_int8",
                             avx2_int8::matrixBytes,
                             avx2_int8::packMatrix,
                             avx2_int8::scratchBytes,
                             avx2_int8::multiplyMatrix,
                             /*fewestColumns=*/0,
                             &avx2_int8::pieces};

} // namespace mpc::rt
