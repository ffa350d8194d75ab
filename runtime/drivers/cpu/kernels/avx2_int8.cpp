// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of int8 on AVX2: VPMADDWD adds two products of int16, which is exact where VPMADDUBSW,
// which multiplies bytes, saturates. Rows are widened before, weights where they are read, so that
// these take a byte from memory. Six rows by two vectors of columns fill the registers.
#define MPC_INT8_TARGET __attribute__((target("avx2")))
#include "runtime/base/memory.h"
#include "runtime/drivers/cpu/kernels/int8_pieces.h"

namespace mpc::rt {
namespace avx2_int8 {
namespace {

struct Avx2 {
  using Vectors = Avx2Vectors;
  static constexpr int64_t stripColumns = 2 * Vectors::lanes, stepRows = 2, panelRows = 6;
  static constexpr uint32_t shift = 0;

  MPC_INT8_INLINE static __m256i loadWeights(const int8_t *strip, int v) {
    return _mm256_cvtepi8_epi16(
        _mm_loadu_si128(reinterpret_cast<const __m128i *>(strip + stepRows * Vectors::lanes * v)));
  }
  MPC_INT8_INLINE static __m256i repeat(int32_t pair) { return _mm256_set1_epi32(pair); }
  MPC_INT8_INLINE static __m256i multiplyAdd(__m256i sums, __m256i factors, __m256i weights) {
    return _mm256_add_epi32(sums, _mm256_madd_epi16(weights, factors));
  }
  MPC_INT8_INLINE static void store(int32_t *row, int64_t columns, int v, __m256i sums) {
    const int64_t count = columns - Vectors::lanes * v;
    if (count >= Vectors::lanes)
      _mm256_storeu_si256(reinterpret_cast<__m256i *>(row + Vectors::lanes * v), sums);
    else if (count > 0)
      _mm256_maskstore_epi32(row + Vectors::lanes * v, Vectors::maskOf(count), sums);
  }
};
using Product = PieceProduct<Avx2>;

MPC_INT8_TARGET void widen(const int8_t *numbers, int64_t count, uint8_t *to) {
  auto *wide = reinterpret_cast<int16_t *>(to);
  for (int64_t i = 0; i < count; ++i)
    wide[i] = numbers[i];
}

// ---- Matrices -----------------------------------------------------------------------------------

constexpr int64_t noOffset = 0;

// A row is one piece.
Int8Pieces rowPieces(const Contraction &c, const uint8_t *const *rows) {
  return {rows, &noOffset, 1, c.k};
}

int64_t rowBytes(const Contraction &c) {
  return ceilDivide(c.k, Avx2::stepRows) * Avx2::stepRows * static_cast<int64_t>(sizeof(int16_t));
}
// Widened rows that stay in the second-level cache while strip after strip meets them.
int64_t blockRows(const Contraction &c) {
  constexpr int64_t mostBytes = 128 << 10;
  const int64_t panels = mostBytes / rowBytes(c) / Avx2::panelRows;
  return std::min(std::max<int64_t>(panels, 1) * Avx2::panelRows, c.m);
}

uint64_t weightBytes(const Contraction &c) {
  return Product::weightBytes(rowPieces(c, nullptr), c.n);
}

void packWeights(ThreadTeam &team, const Contraction &c, const int8_t *rhs, int8_t *to) {
  Product::pack(team, rowPieces(c, nullptr), c.n, c.transposeRhs, rhs, to);
}

// A thread's widened rows, and where each of them begins.
uint64_t blockBytes(const Contraction &c) {
  return alignUp(static_cast<uint64_t>(blockRows(c)) *
                 (static_cast<uint64_t>(rowBytes(c)) + sizeof(uint8_t *)));
}
uint64_t scratchBytes(const Contraction &c, unsigned threads) { return blockBytes(c) * threads; }

class Rows {
public:
  Rows(const Contraction &c, void *scratch)
      : c(c), rows(static_cast<const uint8_t **>(scratch)),
        wide(reinterpret_cast<uint8_t *>(rows + blockRows(c))) {
    for (int64_t row = 0; row < blockRows(c); ++row)
      rows[row] = wide + row * rowBytes(c);
  }
  Int8Pieces widenRows(const int8_t *lhs, int64_t count) {
    for (int64_t row = 0; row < count; ++row) {
      uint8_t *to = wide + row * rowBytes(c);
      widen(lhs + row * c.k, c.k, to);
      if (c.k % Avx2::stepRows)
        std::memset(to + c.k * 2, 0, sizeof(int16_t));
    }
    return rowPieces(c, rows);
  }

private:
  const Contraction &c;
  const uint8_t **rows;
  uint8_t *wide;
};

// Threads share the strips of all blocks of rows. Each of them widens the rows that it meets.
template <typename To>
void multiplyBlocks(ThreadTeam &team, const Contraction &c, const int8_t *lhs,
                    const int8_t *weights, void *scratch, const To &to) {
  constexpr int64_t fewestProducts = 1 << 18; // for a thread
  const int64_t rows = blockRows(c), strips = Product::stripsOf(c.n);
  const int64_t items = ceilDivide(c.m, rows) * strips;
  const int64_t slots =
      std::min<int64_t>(team.threads(), ceilDivide(c.m * c.n * c.k, fewestProducts));
  team.shareOut(items, slots, [&](Turns &turns) {
    Rows own(c, static_cast<uint8_t *>(scratch) + turns.slot() * blockBytes(c));
    Int8Pieces pieces = {};
    int64_t known = -1;
    for (int64_t i; turns.take(i);) {
      const int64_t first = i / strips * rows, count = std::min(rows, c.m - first);
      if (first != known)
        pieces = own.widenRows(lhs + first * c.k, count);
      known = first;
      Product::multiplyStrip(pieces, count, c.n, weights, i % strips, to.from(first, 0));
    }
  });
}

void multiply(ThreadTeam &team, const Contraction &c, const int8_t *lhs, const int8_t *weights,
              void *scratch, int32_t *out) {
  multiplyBlocks(team, c, lhs, weights, scratch, StoredSums<Avx2>{out, c.n});
}

void multiplyAndRequantize(ThreadTeam &team, const Contraction &c, const int8_t *lhs,
                           const int8_t *weights, void *scratch, const RequantizedSums &to) {
  multiplyBlocks(team, c, lhs, weights, scratch, RequantizedTile<Avx2>(to));
}

constexpr Int8PieceKernel pieces = {{sizeof(int16_t), widen},
                                    Product::weightBytes,
                                    Product::packWeights,
                                    Product::multiply,
                                    Product::multiplyAndRequantize};

} // namespace
} // namespace avx2_int8

const Int8Kernel avx2Int8 = {"avx2_int8",
                             avx2_int8::weightBytes,
                             avx2_int8::packWeights,
                             avx2_int8::scratchBytes,
                             avx2_int8::multiply,
                             /*fewestColumns=*/0,
                             &avx2_int8::pieces,
                             /*packsQuickly=*/true,
                             avx2_int8::multiplyAndRequantize};

} // namespace mpc::rt
