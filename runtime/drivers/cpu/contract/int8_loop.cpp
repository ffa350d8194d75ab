// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of int8 into int32 where oneDNN has no exact ones: rows in parallel, columns in tiles
// whose sums stay in registers. Sums wrap around.
#include "runtime/drivers/cpu/contract/contraction_kernels.h"
#include "runtime/drivers/cpu/contract/finish_result.h"

#include <algorithm>
#include <immintrin.h>
#include <vector>

namespace mpc::rt {
namespace {

constexpr int64_t vectorRows = 4, vectorColumns = 16;

// One thread multiplies up to vectorRows rows of lhs, as pairs of int16 (elements k and k + 1), by
// a row-major rhs.
struct Tile {
  const int32_t *pairs; // [rows, (k + 1) / 2]
  int64_t rows, k;
  const int8_t *rhs; // [k, n]
  int64_t n;
  int32_t *out; // [rows, n]
  bool accumulate;
};

int32_t pairOf(int8_t low, int8_t high) {
  return static_cast<int32_t>(static_cast<uint32_t>(static_cast<uint16_t>(high)) << 16 |
                              static_cast<uint16_t>(low));
}

void storeSum(int32_t &target, uint32_t sum, bool accumulate) {
  target = static_cast<int32_t>(sum + (accumulate ? static_cast<uint32_t>(target) : 0u));
}

void multiplyColumns(const Tile &tile, int64_t first, int64_t end) {
  const int64_t pairCount = (tile.k + 1) / 2;
  for (int64_t row = 0; row < tile.rows; ++row)
    for (int64_t n = first; n < end; ++n) {
      uint32_t sum = 0;
      for (int64_t k = 0; k < tile.k; ++k) {
        int32_t pair = tile.pairs[row * pairCount + k / 2];
        auto factor = static_cast<int16_t>(k % 2 ? pair >> 16 : pair);
        sum += static_cast<uint32_t>(factor * tile.rhs[k * tile.n + n]);
      }
      storeSum(tile.out[row * tile.n + n], sum, tile.accumulate);
    }
}

// Two products of int16 and their sum per lane: exact, since 2 * 128 * 128 fits.
template <int rows>
__attribute__((target("avx2"))) void multiplyRows(const Tile &tile, int64_t first) {
  const int64_t pairCount = (tile.k + 1) / 2;
  __m256i sums[rows][2];
  for (auto &sum : sums)
    sum[0] = sum[1] = _mm256_setzero_si256();
  for (int64_t pair = 0; pair < pairCount; ++pair) {
    const int8_t *even = tile.rhs + 2 * pair * tile.n + first;
    // The high half of the last pair of an odd k is zero.
    const int8_t *odd = 2 * pair + 1 < tile.k ? even + tile.n : even;
    __m256i a = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i *>(even)));
    __m256i b = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i *>(odd)));
    // Columns 0-3 and 8-11, 4-7 and 12-15.
    __m256i low = _mm256_unpacklo_epi16(a, b), high = _mm256_unpackhi_epi16(a, b);
    for (int row = 0; row < rows; ++row) {
      __m256i factors = _mm256_set1_epi32(tile.pairs[row * pairCount + pair]);
      sums[row][0] = _mm256_add_epi32(sums[row][0], _mm256_madd_epi16(low, factors));
      sums[row][1] = _mm256_add_epi32(sums[row][1], _mm256_madd_epi16(high, factors));
    }
  }
  for (int row = 0; row < rows; ++row) {
    __m256i halves[2] = {_mm256_permute2x128_si256(sums[row][0], sums[row][1], 0x20),
                         _mm256_permute2x128_si256(sums[row][0], sums[row][1], 0x31)};
    auto *target = reinterpret_cast<__m256i *>(tile.out + row * tile.n + first);
    for (int half = 0; half < 2; ++half)
      _mm256_storeu_si256(target + half,
                          tile.accumulate
                              ? _mm256_add_epi32(halves[half], _mm256_loadu_si256(target + half))
                              : halves[half]);
  }
}

void multiply(const Tile &tile, bool avx2) {
  static constexpr void (*byRows[])(const Tile &, int64_t) = {multiplyRows<1>, multiplyRows<2>,
                                                              multiplyRows<3>, multiplyRows<4>};
  int64_t whole = avx2 ? tile.n / vectorColumns * vectorColumns : 0;
  for (int64_t first = 0; first < whole; first += vectorColumns)
    byRows[tile.rows - 1](tile, first);
  multiplyColumns(tile, whole, tile.n);
}

} // namespace

void contractInt8(ThreadTeam &team, bool avx2, const Contraction &c, const int8_t *lhs,
                  const int8_t *rhs, int32_t *out) {
  const int64_t matrix = c.k * c.n, pairCount = (c.k + 1) / 2;
  // Threads must not allocate: nobody could catch it.
  std::vector<int32_t> pairs(static_cast<size_t>(c.batch * c.m * pairCount));
  std::vector<int8_t> rowMajor; // [batch, k, n]
  if (c.transposeRhs) {
    rowMajor.resize(static_cast<size_t>(c.batch * matrix));
    team.forRange(c.batch * c.k, std::max<int64_t>(1, 65536 / std::max<int64_t>(c.n, 1)),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t row = begin; row < end; ++row)
                      for (int64_t n = 0, b = row / c.k, k = row % c.k; n < c.n; ++n)
                        rowMajor[static_cast<size_t>(row * c.n + n)] =
                            rhs[b * matrix + n * c.k + k];
                  });
    rhs = rowMajor.data();
  }
  // Tiles do not cross matrices.
  const int64_t tiles = (c.m + vectorRows - 1) / vectorRows;
  int64_t grain = std::max<int64_t>(1, 65536 / std::max<int64_t>(vectorRows * matrix, 1));
  team.forRange(c.batch * tiles, grain, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      const int64_t b = index / tiles, m = index % tiles * vectorRows;
      const int64_t rows = std::min(vectorRows, c.m - m);
      const int64_t step = c.transposeLhs ? c.m : 1;
      int32_t *own = pairs.data() + (b * c.m + m) * pairCount;
      for (int64_t row = 0; row < rows; ++row) {
        // An index, no pointer: without a k there may be no lhs to point into.
        const int64_t left = b * c.m * c.k + (c.transposeLhs ? m + row : (m + row) * c.k);
        for (int64_t k = 0; k < c.k; k += 2)
          own[row * pairCount + k / 2] =
              pairOf(lhs[left + k * step], k + 1 < c.k ? lhs[left + (k + 1) * step] : int8_t{0});
      }
      multiply({own, rows, c.k, rhs + b * matrix, c.n, out + (b * c.m + m) * c.n, c.accumulate},
               avx2);
    }
  });
}

namespace {

class Int8Loop final : public ContractionKernel {
public:
  explicit Int8Loop(bool avx2) : avx2(avx2) {}

  const char *name() const override { return "loop"; }
  bool computes(const ContractionCall &call) override { return call.shape.lhs == MPC_RT_INT8; }
  Verdict takes(const ContractionCall & /*call*/) override {
    return taken("no other kernel of this CPU is exact in int8");
  }
  void reserve(const ContractionCall &call, ContractionMemory &memory) override {
    memory.resultMemory(call.shape, call.out);
  }
  void run(const ContractionCall &call, ContractionMemory &memory) override {
    void *out = memory.resultMemory(call.shape, call.out);
    contractInt8(memory.team, avx2, call.shape, static_cast<const int8_t *>(call.lhs),
                 static_cast<const int8_t *>(call.rhs), static_cast<int32_t *>(out));
    finishResult(call, memory, out);
  }

private:
  const bool avx2;
};

} // namespace

std::unique_ptr<ContractionKernel> makeInt8Loop(bool avx2) {
  return std::make_unique<Int8Loop>(avx2);
}

} // namespace mpc::rt
