// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How all kernels use the eight tiles of AMX: sums of up to 16 upper rows (0, 1) and of as many
// lower ones (2, 3), those rows of lhs (4, 5), two tiles of rhs (6, 7).
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_TILE_SHAPES_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_TILE_SHAPES_H

#include <stdint.h>

namespace mpc::rt {

// LDTILECFG reads this layout.
struct alignas(64) TileShapes {
  static constexpr int64_t mostRows = 16, lineBytes = 64;

  uint8_t palette = 1, start = 0, reserved[14] = {};
  uint16_t rowBytes[16] = {};
  uint8_t rows[16] = {};

  explicit TileShapes(int64_t upper = mostRows, int64_t lower = mostRows) {
    const int64_t counts[] = {upper, upper, lower, lower, upper, lower, mostRows, mostRows};
    for (int tile = 0; tile < 8; ++tile) {
      rows[tile] = static_cast<uint8_t>(counts[tile] > 0 ? counts[tile] : 1);
      rowBytes[tile] = lineBytes;
    }
  }
};

} // namespace mpc::rt

#endif
