// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of rows in pieces by int8 weights, as Int8PieceKernel has them. A step is four bytes of
// a row, by as many numbers of each column of a strip. Where rows are larger by Isa::shift than
// their numbers, sums begin at what that adds to each column, taken off: no sums of rows are
// needed.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_INT8_PIECES_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_INT8_PIECES_H

#include "runtime/drivers/cpu/kernels/int8_kernel.h"
#include "runtime/drivers/cpu/kernels/int8_tiles.h"

namespace mpc::rt {

template <typename Isa> class PieceProduct {
public:
  static int64_t stripsOf(int64_t columns) { return ceilDivide(columns, stripColumns); }

  // Strips of weights, then where the sums of each column start.
  static uint64_t weightBytes(const Int8Pieces &pieces, int64_t columns) {
    return static_cast<uint64_t>(stripsOf(columns) * (stripBytes(pieces) + startBytes));
  }
  static void packWeights(ThreadTeam &team, const Int8Pieces &pieces, int64_t columns,
                          const int8_t *rhs, int8_t *to) {
    pack(team, pieces, columns, /*isTransposed=*/false, rhs, to);
  }
  // Weights [depth, columns], or transposed.
  static void pack(ThreadTeam &team, const Int8Pieces &pieces, int64_t columns, bool isTransposed,
                   const int8_t *rhs, int8_t *to);
  static void multiply(const Int8Pieces &pieces, int64_t rows, int64_t columns,
                       const int8_t *weights, int32_t *out) {
    multiplyStrips(pieces, rows, columns, weights, StoredSums<Isa>{out, columns});
  }
  static void multiplyAndRequantize(const Int8Pieces &pieces, int64_t rows, int64_t columns,
                                    const int8_t *weights, const RequantizedSums &to) {
    multiplyStrips(pieces, rows, columns, weights, RequantizedTile<Isa>(to));
  }
  // Rows by one strip; `To` takes the sums.
  template <typename To>
  static void multiplyStrip(const Int8Pieces &pieces, int64_t rows, int64_t columns,
                            const int8_t *weights, int64_t strip, const To &to);

private:
  using Vectors = typename Isa::Vectors;
  static constexpr int64_t panelRows = Isa::panelRows, stripColumns = Isa::stripColumns,
                           stepRows = Isa::stepRows, stepBytes = stripColumns * stepRows;
  static constexpr int64_t startBytes =
      Isa::shift ? stripColumns * static_cast<int64_t>(sizeof(int32_t)) : 0;

  // Up to panelRows rows by one strip.
  template <typename To> struct Tile {
    const Int8Pieces &pieces;
    const uint8_t *const *lanes;
    const int8_t *weights;
    const int32_t *starts; // of the strip's columns
    int64_t columns;
    To to;
  };
  template <int rows, int vectors, typename To> static void multiplyTile(const Tile<To> &tile);
  template <typename To> struct Multiply {
    template <int rows, int vectors> struct Tiles {
      static void run(const Tile<To> &tile) { multiplyTile<rows, vectors>(tile); }
    };
  };

  static int64_t stepsOf(const Int8Pieces &pieces) { return ceilDivide(pieces.length, stepRows); }
  static int64_t stripBytes(const Int8Pieces &pieces) {
    return pieces.count * stepsOf(pieces) * stepBytes;
  }
  template <typename To>
  static void multiplyStrips(const Int8Pieces &pieces, int64_t rows, int64_t columns,
                             const int8_t *weights, const To &to) {
    for (int64_t strip = 0; strip < stripsOf(columns); ++strip)
      multiplyStrip(pieces, rows, columns, weights, strip, to);
  }
};

// The loops are unrolled for the sums to stay in registers. A piece whose length is no multiple of
// stepRows has weights of zero for what its last step reads behind it.
template <typename Isa>
template <int rows, int vectors, typename To>
MPC_INT8_TARGET void PieceProduct<Isa>::multiplyTile(const Tile<To> &tile) {
  Int8Sums<Isa> sums[rows][vectors], starts[vectors];
#pragma clang loop unroll(full)
  for (int v = 0; v < vectors; ++v)
    starts[v] =
        Isa::shift ? Vectors::loadWhole(tile.starts + Vectors::lanes * v) : Vectors::zeros();
  beginSums<Isa>(tile.to, tile.columns, starts, sums);
  const int8_t *weights = tile.weights;
  const int64_t steps = stepsOf(tile.pieces);
  for (int64_t piece = 0; piece < tile.pieces.count; ++piece) {
    const uint8_t *from[rows];
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; ++r)
      from[r] = tile.lanes[r] + tile.pieces.offsets[piece];
    for (int64_t step = 0; step < steps; ++step, weights += stepBytes) {
      Int8Sums<Isa> row[vectors];
#pragma clang loop unroll(full)
      for (int v = 0; v < vectors; ++v)
        row[v] = Isa::loadWeights(weights, v);
#pragma clang loop unroll(full)
      for (int r = 0; r < rows; ++r) {
        int32_t four;
        std::memcpy(&four, from[r] + step * static_cast<int64_t>(sizeof(four)), sizeof(four));
        const Int8Sums<Isa> factors = Isa::repeat(four);
#pragma clang loop unroll(full)
        for (int v = 0; v < vectors; ++v)
          sums[r][v] = Isa::multiplyAdd(sums[r][v], factors, row[v]);
      }
    }
  }
  tile.to.finish(tile.columns, sums);
}

template <typename Isa>
template <typename To>
void PieceProduct<Isa>::multiplyStrip(const Int8Pieces &pieces, int64_t rows, int64_t columns,
                                      const int8_t *weights, int64_t strip, const To &to) {
  const int64_t column = strip * stripColumns, count = std::min(stripColumns, columns - column);
  const auto *starts =
      reinterpret_cast<const int32_t *>(weights + stripsOf(columns) * stripBytes(pieces));
  for (int64_t row = 0; row < rows; row += panelRows)
    TileTable<Isa, Multiply<To>::template Tiles>::of(std::min(panelRows, rows - row), count)(
        {pieces, pieces.lanes + row, weights + strip * stripBytes(pieces),
         Isa::shift ? starts + column : nullptr, count, to.from(row, column)});
}

template <typename Isa>
void PieceProduct<Isa>::pack(ThreadTeam &team, const Int8Pieces &pieces, int64_t columns,
                             bool isTransposed, const int8_t *rhs, int8_t *to) {
  const int64_t strips = stripsOf(columns), depth = pieces.depth();
  auto *starts = reinterpret_cast<int32_t *>(to + strips * stripBytes(pieces));
  // From a number of a column to the next one, and to that of the next column.
  const int64_t down = isTransposed ? 1 : columns, across = isTransposed ? depth : 1;
  team.forRange(strips, 1, [&](int64_t begin, int64_t end) {
    std::memset(to + begin * stripBytes(pieces), 0,
                static_cast<size_t>((end - begin) * stripBytes(pieces)));
    for (int64_t strip = begin; strip < end; ++strip) {
      const int64_t first = strip * stripColumns, count = std::min(stripColumns, columns - first);
      uint32_t sums[stripColumns] = {}; // they wrap around
      int8_t *step = to + strip * stripBytes(pieces);
      for (int64_t piece = 0; piece < pieces.count; ++piece)
        for (int64_t i = 0; i < pieces.length; i += stepRows, step += stepBytes)
          for (int64_t row = 0; row < std::min(stepRows, pieces.length - i); ++row) {
            const int8_t *from = rhs + (piece * pieces.length + i + row) * down + first * across;
            for (int64_t column = 0; column < count; ++column, from += across) {
              step[column * stepRows + row] = *from;
              if constexpr (Isa::shift != 0)
                sums[column] += static_cast<uint32_t>(*from);
            }
          }
      if constexpr (Isa::shift != 0)
        for (int64_t column = 0; column < stripColumns; ++column)
          starts[first + column] = static_cast<int32_t>(0u - Isa::shift * sums[column]);
    }
  });
}

} // namespace mpc::rt

#endif
