// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of products by VPDPBUSD: up to six rows, in registers, by a strip of 64 columns.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_VNNI_TILES_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_VNNI_TILES_H

#include "runtime/drivers/cpu/kernels/requantized_rows.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"

#include <algorithm>
#include <immintrin.h>

#define MPC_VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
// For the same reason as MPC_V4_INLINE.
#define MPC_VNNI_INLINE MPC_VNNI __attribute__((always_inline)) inline

namespace mpc::rt::vnni {

constexpr int64_t stripColumns = 64, stepRows = 4, stepBytes = stripColumns * stepRows;
constexpr int64_t panelRows = 6;

// Stores vector `v` of a row of `columns` sums. Masked stores take many cycles on AMD's CPUs.
MPC_VNNI_INLINE void store(int32_t *row, int64_t columns, int v, __m512i sums) {
  const int64_t count = std::clamp<int64_t>(columns - 16 * v, 0, 16);
  if (count == 16)
    _mm512_storeu_si512(row + 16 * v, sums);
  else if (count == 8)
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(row + 16 * v), _mm512_castsi512_si256(sums));
  else
    _mm512_mask_storeu_epi32(row + 16 * v, static_cast<__mmask16>((1u << count) - 1), sums);
}

// Where the sums of a tile go: to memory as they are,
struct StoredSums {
  int32_t *out;
  int64_t stride;

  // Rows and columns of the result from another one on.
  StoredSums from(int64_t row, int64_t column) const {
    return {out + row * stride + column, stride};
  }
  template <int vectors>
  MPC_VNNI_INLINE void begin(int64_t /*columns*/, __m512i (&)[vectors]) const {}
  template <int rows, int vectors>
  MPC_VNNI_INLINE void finish(int64_t columns, const __m512i (&sums)[rows][vectors]) const {
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; ++r)
#pragma clang loop unroll(full)
      for (int v = 0; v < vectors; ++v)
        store(out + r * stride, columns, v, sums[r][v]);
  }
};

// or as numbers of 8 bits.
struct RequantizedTile : RequantizedSums {
  RequantizedTile(const RequantizedSums &sums) : RequantizedSums(sums) {}

  RequantizedTile from(int64_t row, int64_t column) const {
    return RequantizedSums::from(row, column);
  }
  // The bias is part of what sums begin with.
  template <int vectors>
  MPC_VNNI_INLINE void begin(int64_t columns, __m512i (&starts)[vectors]) const {
    if (!bias)
      return;
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v)
      starts[v] = _mm512_add_epi32(starts[v], requantized::loadFirst(bias, columns, v));
  }
  template <int rows, int vectors>
  MPC_VNNI_INLINE void finish(int64_t columns, const __m512i (&sums)[rows][vectors]) const {
    const requantized::Bounds bounds(*this);
    __m512 scales[vectors];
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v)
      scales[v] = _mm512_castsi512_ps(requantized::loadFirst(scale, columns, v));
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; ++r) {
      __m512i whole[vectors];
#pragma clang loop unroll(full)
      for (int v = 0; v < vectors; ++v)
        whole[v] = requantized::round(_mm512_cvtepi32_ps(sums[r][v]), scales[v], bounds);
      requantized::store(out + r * stride, columns, whole, bounds);
    }
  }
};

// Multiply<rows, vectors>::run for the rows and the columns that a tile has.
template <template <int, int> class Multiply> class TileTable {
public:
  using Run = decltype(&Multiply<1, 1>::run);
  static Run of(int64_t rows, int64_t columns) {
    return byVectors[ceilDivide(columns, 16) - 1][rows - 1];
  }

private:
  template <int vectors>
  static constexpr Run byRows[panelRows] = {Multiply<1, vectors>::run, Multiply<2, vectors>::run,
                                            Multiply<3, vectors>::run, Multiply<4, vectors>::run,
                                            Multiply<5, vectors>::run, Multiply<6, vectors>::run};
  static constexpr const Run *byVectors[] = {byRows<1>, byRows<2>, byRows<3>, byRows<4>};
};

} // namespace mpc::rt::vnni

#endif
