// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// float32 on AVX-512: 6 rows by four vectors of columns, whose 24 sums cover the latency of two
// fused multiply-adds per cycle with the fewest loads. A step is one k. 16-bit operands are widened
// while they are packed.
#include "runtime/drivers/cpu/micro_kernel.h"
#include "runtime/drivers/cpu/transpose16.h"

namespace mpc::rt {
namespace {

constexpr int64_t rows = 6, columns = 64, vectors = columns / 16;
constexpr int64_t lineBytes = 64;

__mmask16 firstOf(int64_t count) {
  return count >= 16  ? ~__mmask16{0}
         : count <= 0 ? __mmask16{0}
                      : static_cast<__mmask16>((1u << count) - 1);
}

struct Float32 {
  using Storage = float;
  static __m512 load(__mmask16 mask, const float *from) {
    return _mm512_maskz_loadu_ps(mask, from);
  }
};
struct BFloat16 {
  using Storage = uint16_t;
  static __m512 load(__mmask16 mask, const uint16_t *from) {
    __m512i wide = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
  }
};
struct Float16 {
  using Storage = uint16_t;
  static __m512 load(__mmask16 mask, const uint16_t *from) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, from));
  }
};

// Where k is contiguous.
template <typename Type, int64_t width>
void packAlongDepth(const PanelSource &source, int64_t panels, int64_t steps, void *to) {
  const auto *data = static_cast<const typename Type::Storage *>(source.data);
  for (int64_t panel = 0; panel < panels; ++panel)
    for (int64_t group = 0; group < width; group += 16) {
      const int64_t lane = panel * width + group;
      float *target = static_cast<float *>(to) + panel * steps * width + group;
      const __mmask16 kept = firstOf(width - group);
      for (int64_t k = 0; k < steps; k += 16) {
        const __mmask16 mask = firstOf(source.depth - k);
        __m512i lines[16];
        for (int i = 0; i < 16; ++i)
          lines[i] =
              i < width - group && lane + i < source.lanes
                  ? _mm512_castps_si512(Type::load(mask, data + (lane + i) * source.stride + k))
                  : _mm512_setzero_si512();
        transpose16(lines);
        for (int64_t i = 0; i < 16 && k + i < steps; ++i)
          _mm512_mask_storeu_epi32(target + (k + i) * width, kept, lines[i]);
      }
    }
}

// Where lanes are contiguous. Steps outside: memory is read along its rows.
template <typename Type, int64_t width>
void packAcrossDepth(const PanelSource &source, int64_t panels, int64_t steps, void *to) {
  const auto *data = static_cast<const typename Type::Storage *>(source.data);
  for (int64_t k = 0; k < steps; ++k)
    for (int64_t panel = 0; panel < panels; ++panel)
      for (int64_t group = 0; group < width; group += 16) {
        const int64_t lane = panel * width + group;
        const __mmask16 kept = firstOf(width - group);
        const __mmask16 mask = k < source.depth ? kept & firstOf(source.lanes - lane) : 0;
        _mm512_mask_storeu_ps(static_cast<float *>(to) + (panel * steps + k) * width + group, kept,
                              Type::load(mask, data + k * source.stride + lane));
      }
}

void multiply(const MicroTile &tile) {
  __m512 sums[rows][vectors];
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < vectors; ++j)
      sums[i][j] = tile.first ? _mm512_setzero_ps()
                              : _mm512_load_ps(tile.sums + i * tile.sumStride + 16 * j);
  const float *lhs = reinterpret_cast<const float *>(tile.lhs);
  const float *rhs = reinterpret_cast<const float *>(tile.rhs);
  // One line of each at a time: more would hold up the loads of this tile.
  constexpr int64_t prefetchSteps = 8;
  const uint8_t *next[] = {tile.nextLhs, tile.nextRhs};
  const uint8_t *const end[] = {tile.nextLhs + tile.nextLhsBytes, tile.nextRhs + tile.nextRhsBytes};
  for (int64_t k = 0; k < tile.steps; ++k, lhs += rows, rhs += columns) {
    if (k % prefetchSteps == 0)
      for (int side = 0; side < 2; ++side)
        if (next[side] < end[side]) {
          _mm_prefetch(reinterpret_cast<const char *>(next[side]), _MM_HINT_T1);
          next[side] += lineBytes;
        }
    __m512 row[vectors];
    for (int64_t j = 0; j < vectors; ++j)
      row[j] = _mm512_load_ps(rhs + 16 * j);
    for (int64_t i = 0; i < rows; ++i) {
      const __m512 factor = _mm512_set1_ps(lhs[i]);
      for (int64_t j = 0; j < vectors; ++j)
        sums[i][j] = _mm512_fmadd_ps(factor, row[j], sums[i][j]);
    }
  }
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < vectors; ++j)
      _mm512_store_ps(tile.sums + i * tile.sumStride + 16 * j, sums[i][j]);
}

void nothing(void *) {}
void nothing(const void *) {}

} // namespace

const MicroKernel avx512Float32 = {
    "avx512_float32",
    rows,
    columns,
    /*depth=*/1,
    /*lhsStepBytes=*/rows * 4,
    /*rhsStepBytes=*/columns * 4,
    /*steps=*/128,
    /*blockRows=*/384,
    /*blockColumns=*/512,
    {{packAcrossDepth<Float32, rows>, packAlongDepth<Float32, rows>},
     {packAcrossDepth<BFloat16, rows>, packAlongDepth<BFloat16, rows>},
     {packAcrossDepth<Float16, rows>, packAlongDepth<Float16, rows>}},
    {{packAcrossDepth<Float32, columns>, packAlongDepth<Float32, columns>},
     {packAcrossDepth<BFloat16, columns>, packAlongDepth<BFloat16, columns>},
     {packAcrossDepth<Float16, columns>, packAlongDepth<Float16, columns>}},
    nothing,
    nothing,
    multiply};

} // namespace mpc::rt
