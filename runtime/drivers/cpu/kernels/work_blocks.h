// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How work is cut into blocks and threads; contractions, convolutions and attention alike.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_WORK_BLOCKS_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_WORK_BLOCKS_H

#include "runtime/base/dtype.h"

namespace mpc::rt {

// Converted operands plus results of one block: about what the shared cache holds besides the
// packed right-hand side or filter.
inline constexpr int64_t blockBytes = 8 << 20;
// Contexts that see ever new batch sizes must not grow without bound.
inline constexpr size_t mostPlans = 4096;
// Elements per thread below which a fork costs more than the work.
inline constexpr int64_t conversionGrain = 16384;

inline int64_t ceilDivide(int64_t value, int64_t by) { return (value + by - 1) / by; }

inline const uint8_t *at(const void *base, int64_t element, mpc_rt_dtype_t dtype) {
  return static_cast<const uint8_t *>(base) + element * static_cast<int64_t>(dtypeSize(dtype));
}

// Rows in as few tiles as they need, whose numbers of rows differ by one at most: the few sums of a
// small rest would wait for each other.
class EvenTiles {
public:
  EvenTiles(int64_t rows, int64_t most)
      : tiles(ceilDivide(rows, most)), fewer(tiles > 0 ? rows / tiles : 0),
        larger(rows - fewer * tiles) {}
  int64_t count() const { return tiles; }
  int64_t rowsOf(int64_t tile) const { return fewer + (tile < larger); }

private:
  int64_t tiles, fewer, larger;
};

} // namespace mpc::rt

#endif
