// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of products by VPDPBUSD: up to six rows, in registers, by a strip of 64 columns.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_VNNI_TILES_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_VNNI_TILES_H

#include "runtime/drivers/cpu/kernels/work_blocks.h"

#include <algorithm>
#include <immintrin.h>

#define MPC_VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))

namespace mpc::rt::vnni {

constexpr int64_t stripColumns = 64, stepRows = 4, stepBytes = stripColumns * stepRows;
constexpr int64_t panelRows = 6;

// Stores vector `v` of a row of `columns` sums. Masked stores take many cycles on AMD's CPUs.
MPC_VNNI inline void store(int32_t *row, int64_t columns, int v, __m512i sums) {
  const int64_t count = std::clamp<int64_t>(columns - 16 * v, 0, 16);
  if (count == 16)
    _mm512_storeu_si512(row + 16 * v, sums);
  else if (count == 8)
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(row + 16 * v), _mm512_castsi512_si256(sums));
  else
    _mm512_mask_storeu_epi32(row + 16 * v, static_cast<__mmask16>((1u << count) - 1), sums);
}

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
