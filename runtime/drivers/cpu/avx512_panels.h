// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the AVX-512 micro-kernels share: 6 rows by four vectors of columns, whose 24 sums cover the
// latency of two multiply-adds per cycle with the fewest loads. A step holds 32 bits of each lane,
// one k or two.
//
// For files compiled for AVX-512 alone: nothing here has external linkage.
#ifndef MPC_RUNTIME_DRIVERS_CPU_AVX512_PANELS_H
#define MPC_RUNTIME_DRIVERS_CPU_AVX512_PANELS_H

#include "runtime/drivers/cpu/micro_kernel.h"
#include "runtime/drivers/cpu/transpose16.h"

namespace mpc::rt {
namespace {

constexpr int64_t panelRows = 6, panelColumns = 64, panelVectors = panelColumns / 16;
constexpr int64_t stepBytesPerLane = 4;

inline __mmask16 firstOf(int64_t count) {
  return count >= 16  ? ~__mmask16{0}
         : count <= 0 ? __mmask16{0}
                      : static_cast<__mmask16>((1u << count) - 1);
}

template <typename Operand>
const typename Operand::Storage *at(const PanelSource &source, int64_t stride, int64_t contiguous) {
  return static_cast<const typename Operand::Storage *>(source.data) + stride * source.stride +
         contiguous;
}

// Operands that lie in memory are read in short pieces far from each other, which no CPU foresees.
// Behind the end nothing is read.
template <int hint> void fetch(const void *from) {
  _mm_prefetch(static_cast<const char *>(from), hint);
}
constexpr int64_t stepsAhead = 8;

// Stores the first `lanes` lanes. Masked stores take many cycles on AMD's CPUs: where more steps
// follow, which overwrite what is too much, eight lanes are stored instead of fewer.
template <int64_t lanes> void storeLanes(int32_t *to, __m512i values, bool moreFollow) {
  if constexpr (lanes >= 16)
    _mm512_storeu_si512(to, values);
  else if (lanes <= 8 && moreFollow)
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(to), _mm512_castsi512_si256(values));
  else
    _mm512_mask_storeu_epi32(to, firstOf(lanes), values);
}

// Where k is contiguous. `Operand::alongDepth(from, count)` has 16 steps of a lane, of whose k
// `count` exist.
template <typename Operand, int64_t width>
void packAlongDepth(const PanelSource &source, int64_t panels, int64_t steps, void *to) {
  static_assert(width < 16 || width % 16 == 0);
  for (int64_t panel = 0; panel < panels; ++panel)
    for (int64_t group = 0; group < width; group += 16) {
      const int64_t lane = panel * width + group;
      int32_t *target = static_cast<int32_t *>(to) + panel * steps * width + group;
      for (int64_t step = 0; step < steps; step += 16) {
        const int64_t k = step * Operand::depth;
        __m512i lines[16];
        for (int i = 0; i < 16; ++i) {
          fetch<_MM_HINT_T1>(at<Operand>(source, lane + 16 + i, k));
          lines[i] = i < width - group && lane + i < source.lanes
                         ? Operand::alongDepth(at<Operand>(source, lane + i, k), source.depth - k)
                         : _mm512_setzero_si512();
        }
        transpose16(lines);
        for (int64_t i = 0; i < 16 && step + i < steps; ++i)
          storeLanes<width % 16 ? width : 16>(target + (step + i) * width, lines[i],
                                              step + i + 1 < steps);
      }
    }
}

// Where lanes are contiguous. `Operand::acrossDepth(from, stride, count, mask)` has one step of 16
// lanes, of whose k `count` exist. Steps outside: memory is read along its rows.
template <typename Operand, int64_t width>
void packAcrossDepth(const PanelSource &source, int64_t panels, int64_t steps, void *to) {
  for (int64_t step = 0; step < steps; ++step)
    for (int64_t panel = 0; panel < panels; ++panel)
      for (int64_t group = 0; group < width; group += 16) {
        const int64_t lane = panel * width + group, k = step * Operand::depth;
        const __mmask16 kept = firstOf(width - group);
        for (int64_t i = 0; i < Operand::depth; ++i)
          fetch<_MM_HINT_T0>(at<Operand>(source, k + stepsAhead * Operand::depth + i, lane));
        storeLanes<width % 16 ? width : 16>(
            static_cast<int32_t *>(to) + (panel * steps + step) * width + group,
            Operand::acrossDepth(at<Operand>(source, k, lane), source.stride, source.depth - k,
                                 kept & firstOf(source.lanes - lane)),
            step + 1 < steps);
      }
}

// `Step::add(sums, factors, row)` adds a step of 16 columns; `factors` has that of one row of lhs
// in every lane. The first `rows` of the tile's rows are multiplied.
template <typename Step, int64_t rows = panelRows> void multiplyPanels(const MicroTile &tile) {
  constexpr int64_t lineBytes = 64;
  __m512 sums[rows][panelVectors];
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < panelVectors; ++j)
      sums[i][j] = tile.first ? _mm512_setzero_ps()
                              : _mm512_load_ps(tile.sums + i * tile.sumStride + 16 * j);
  const int32_t *lhs = reinterpret_cast<const int32_t *>(tile.lhs);
  const int32_t *rhs = reinterpret_cast<const int32_t *>(tile.rhs);
  // One line of each at a time: more would hold up the loads of this tile.
  constexpr int64_t prefetchSteps = 8;
  const uint8_t *next[] = {tile.nextLhs, tile.nextRhs};
  const uint8_t *const end[] = {tile.nextLhs + tile.nextLhsBytes, tile.nextRhs + tile.nextRhsBytes};
  for (int64_t step = 0; step < tile.steps; ++step, lhs += panelRows, rhs += panelColumns) {
    if (step % prefetchSteps == 0)
      for (int side = 0; side < 2; ++side)
        if (next[side] < end[side]) {
          _mm_prefetch(reinterpret_cast<const char *>(next[side]), _MM_HINT_T1);
          next[side] += lineBytes;
        }
    __m512i row[panelVectors];
    for (int64_t j = 0; j < panelVectors; ++j)
      row[j] = _mm512_load_si512(rhs + 16 * j);
    for (int64_t i = 0; i < rows; ++i) {
      const __m512i factors = _mm512_set1_epi32(lhs[i]);
      for (int64_t j = 0; j < panelVectors; ++j)
        sums[i][j] = Step::add(sums[i][j], factors, row[j]);
    }
  }
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < panelVectors; ++j)
      _mm512_store_ps(tile.sums + i * tile.sumStride + 16 * j, sums[i][j]);
}

template <typename Step, int64_t rows, int64_t vectors> void multiplyPieces(const PieceTile &tile) {
  __m512 sums[rows][vectors];
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < vectors; ++j)
      sums[i][j] = tile.first ? _mm512_setzero_ps()
                              : _mm512_load_ps(tile.sums + i * tile.sumStride + 16 * j);
  for (int64_t piece = 0; piece < tile.count; ++piece) {
    const uint8_t *lanes[rows], *rhs = tile.pieces[piece].rhs;
    for (int64_t i = 0; i < rows; ++i)
      lanes[i] = tile.lanes[i] + tile.pieces[piece].lhs;
    for (int64_t step = 0, at = 0; step < tile.pieces[piece].steps;
         ++step, at += tile.lhsStepBytes, rhs += 64 * vectors) {
      __m512i row[vectors];
      for (int64_t j = 0; j < vectors; ++j)
        row[j] = _mm512_load_si512(rhs + 64 * j);
      for (int64_t i = 0; i < rows; ++i) {
        int32_t factor;
        __builtin_memcpy(&factor, lanes[i] + at, sizeof factor);
        const __m512i factors = _mm512_set1_epi32(factor);
        for (int64_t j = 0; j < vectors; ++j)
          sums[i][j] = Step::add(sums[i][j], factors, row[j]);
      }
    }
  }
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < vectors; ++j)
      _mm512_store_ps(tile.sums + i * tile.sumStride + 16 * j, sums[i][j]);
}

template <int64_t... count> struct Counts {};
using UpTo6 = Counts<1, 2, 3, 4, 5, 6>;
using UpTo12 = Counts<1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12>;
constexpr int64_t fewColumns = 32;

template <typename Step, int64_t vectors, int64_t... rows>
void multiplyLanes(const PieceTile &tile) {
  static constexpr void (*ofRows[])(const PieceTile &) = {multiplyPieces<Step, rows, vectors>...};
  ofRows[tile.rows - 1](tile);
}

template <typename Step, template <int64_t> typename Packs, int64_t columns, int64_t... rows>
constexpr PieceKernel pieceKernel(Counts<rows...>) {
  return {sizeof...(rows),
          columns,
          stepBytesPerLane,
          Step::depth,
          Packs<columns>::of,
          Packs<columns>::of,
          multiplyLanes<Step, columns / 16, rows...>};
}

inline void nothing(void *) {}
inline void nothing(const void *) {}

} // namespace
} // namespace mpc::rt

#endif
