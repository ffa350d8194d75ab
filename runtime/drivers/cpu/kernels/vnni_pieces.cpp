// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// VPDPBUSD multiplies unsigned bytes by signed ones. Rows are 128 larger than their numbers: sums
// begin at what that adds to each column, taken off. So no sums of rows are needed.
#include "runtime/drivers/cpu/kernels/int8_kernel.h"
#include "runtime/drivers/cpu/kernels/vnni_tiles.h"

#include <cstring>

namespace mpc::rt {
namespace vnni_pieces {
namespace {

using vnni::panelRows, vnni::stepBytes, vnni::stepRows, vnni::stripColumns;

constexpr uint8_t shiftOfRows = 128;

int64_t stepsOf(const Int8Pieces &pieces) { return ceilDivide(pieces.length, stepRows); }
int64_t stripBytes(const Int8Pieces &pieces) { return pieces.count * stepsOf(pieces) * stepBytes; }
int64_t stripsOf(int64_t columns) { return ceilDivide(columns, stripColumns); }

// Up to panelRows rows by one strip; `To` takes the sums.
template <typename To> struct Tile {
  const Int8Pieces &pieces;
  const uint8_t *const *lanes;
  const int8_t *weights;
  const int32_t *starts; // of the strip's columns
  int64_t columns;
  To to;
};

// The loops are unrolled for the sums to stay in registers.
template <int rows, int vectors, typename To> MPC_VNNI void multiplyTile(const Tile<To> &tile) {
  __m512i sums[rows][vectors], starts[vectors];
#pragma clang loop unroll(full)
  for (int v = 0; v < vectors; ++v)
    starts[v] = _mm512_loadu_si512(tile.starts + 16 * v);
  tile.to.begin(tile.columns, starts);
#pragma clang loop unroll(full)
  for (int v = 0; v < vectors; ++v)
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; ++r)
      sums[r][v] = starts[v];
  const int8_t *weights = tile.weights;
  const int64_t steps = stepsOf(tile.pieces);
  for (int64_t piece = 0; piece < tile.pieces.count; ++piece) {
    const uint8_t *from[rows];
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; ++r)
      from[r] = tile.lanes[r] + tile.pieces.offsets[piece];
    for (int64_t step = 0; step < steps; ++step, weights += stepBytes) {
      __m512i row[vectors];
#pragma clang loop unroll(full)
      for (int v = 0; v < vectors; ++v)
        row[v] = _mm512_loadu_si512(weights + 64 * v);
#pragma clang loop unroll(full)
      for (int r = 0; r < rows; ++r) {
        int32_t four;
        std::memcpy(&four, from[r] + step * stepRows, sizeof(four));
        const __m512i factors = _mm512_set1_epi32(four);
#pragma clang loop unroll(full)
        for (int v = 0; v < vectors; ++v)
          sums[r][v] = _mm512_dpbusd_epi32(sums[r][v], factors, row[v]);
      }
    }
  }
  tile.to.finish(tile.columns, sums);
}

template <typename To> struct MultiplyTiles {
  template <int rows, int vectors> struct Of {
    static void run(const Tile<To> &tile) { multiplyTile<rows, vectors>(tile); }
  };
};

void shift(const int8_t *numbers, int64_t count, uint8_t *to) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = static_cast<uint8_t>(numbers[i] ^ shiftOfRows);
}

// Strips of weights, then where the sums of each column start.
uint64_t weightBytes(const Int8Pieces &pieces, int64_t columns) {
  return static_cast<uint64_t>(
      stripsOf(columns) *
      (stripBytes(pieces) + stripColumns * static_cast<int64_t>(sizeof(int32_t))));
}

void packWeights(ThreadTeam &team, const Int8Pieces &pieces, int64_t columns, const int8_t *rhs,
                 int8_t *to) {
  const int64_t strips = stripsOf(columns), steps = stepsOf(pieces);
  auto *starts = reinterpret_cast<int32_t *>(to + strips * stripBytes(pieces));
  std::memset(to, 0, weightBytes(pieces, columns));
  team.forRange(strips, 1, [&](int64_t begin, int64_t end) {
    for (int64_t column = begin * stripColumns; column < std::min(end * stripColumns, columns);
         ++column) {
      int8_t *strip =
          to + column / stripColumns * stripBytes(pieces) + column % stripColumns * stepRows;
      int32_t sum = 0;
      for (int64_t piece = 0; piece < pieces.count; ++piece)
        for (int64_t i = 0; i < pieces.length; ++i) {
          const int8_t number = rhs[(piece * pieces.length + i) * columns + column];
          strip[(piece * steps + i / stepRows) * stepBytes + i % stepRows] = number;
          sum += number;
        }
      starts[column] =
          static_cast<int32_t>(0u - uint32_t{shiftOfRows} * static_cast<uint32_t>(sum));
    }
  });
}

template <typename To>
void multiplyTo(const Int8Pieces &pieces, int64_t rows, int64_t columns, const int8_t *weights,
                const To &to) {
  const int64_t strips = stripsOf(columns);
  const auto *starts = reinterpret_cast<const int32_t *>(weights + strips * stripBytes(pieces));
  for (int64_t strip = 0; strip < strips; ++strip) {
    const int64_t column = strip * stripColumns, count = std::min(stripColumns, columns - column);
    for (int64_t row = 0; row < rows; row += panelRows)
      vnni::TileTable<MultiplyTiles<To>::template Of>::of(std::min(panelRows, rows - row), count)(
          {pieces, pieces.lanes + row, weights + strip * stripBytes(pieces), starts + column, count,
           to.from(row, column)});
  }
}

void multiply(const Int8Pieces &pieces, int64_t rows, int64_t columns, const int8_t *weights,
              int32_t *out) {
  multiplyTo(pieces, rows, columns, weights, vnni::StoredSums{out, columns});
}

void multiplyAndRequantize(const Int8Pieces &pieces, int64_t rows, int64_t columns,
                           const int8_t *weights, const RequantizedSums &to) {
  multiplyTo(pieces, rows, columns, weights, vnni::RequantizedTile(to));
}

} // namespace
} // namespace vnni_pieces

const Int8PieceKernel vnniPieces = {{sizeof(uint8_t), vnni_pieces::shift},
                                    vnni_pieces::weightBytes,
                                    vnni_pieces::packWeights,
                                    vnni_pieces::multiply,
                                    vnni_pieces::multiplyAndRequantize};

} // namespace mpc::rt
