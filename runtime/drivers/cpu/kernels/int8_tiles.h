// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of products of int8: up to `Isa::panelRows` rows by a strip of columns, whose sums stay in
// registers. Which instructions that takes the including file says by MPC_INT8_TARGET.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_INT8_TILES_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_INT8_TILES_H

#include "runtime/drivers/cpu/kernels/requantized_vectors.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"

#ifndef MPC_INT8_TARGET
#error "MPC_INT8_TARGET is the target attribute of the tiles"
#endif
#define MPC_INT8_INLINE MPC_INT8_TARGET __attribute__((always_inline)) inline

namespace mpc::rt {

template <typename Isa> using Int8Sums = typename Isa::Vectors::Integers;

// Where the sums of a tile go: to memory as they are,
template <typename Isa> struct StoredSums {
  int32_t *out;
  int64_t stride;

  // Rows and columns of the result from another one on.
  StoredSums from(int64_t row, int64_t column) const {
    return {out + row * stride + column, stride};
  }
  template <int vectors>
  MPC_INT8_INLINE void begin(int64_t /*columns*/, Int8Sums<Isa> (&)[vectors]) const {}
  template <int rows, int vectors>
  MPC_INT8_INLINE void finish(int64_t columns, const Int8Sums<Isa> (&sums)[rows][vectors]) const {
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; ++r)
#pragma clang loop unroll(full)
      for (int v = 0; v < vectors; ++v)
        Isa::store(out + r * stride, columns, v, sums[r][v]);
  }
};

// or as numbers of 8 bits.
template <typename Isa> struct RequantizedTile : RequantizedSums {
  using Vectors = typename Isa::Vectors;

  RequantizedTile(const RequantizedSums &sums) : RequantizedSums(sums) {}

  RequantizedTile from(int64_t row, int64_t column) const {
    return RequantizedSums::from(row, column);
  }
  // The bias is part of what sums begin with.
  template <int vectors>
  MPC_INT8_INLINE void begin(int64_t columns, Int8Sums<Isa> (&starts)[vectors]) const {
    if (!bias)
      return;
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v)
      starts[v] = Vectors::add(starts[v], Vectors::loadFirst(bias, columns, v));
  }
  template <int rows, int vectors>
  MPC_INT8_INLINE void finish(int64_t columns, const Int8Sums<Isa> (&sums)[rows][vectors]) const {
    const typename Vectors::Bounds bounds(*this);
    typename Vectors::Floats scales[vectors];
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v)
      scales[v] = Vectors::loadFirstFloats(scale, columns, v);
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; ++r) {
      Int8Sums<Isa> whole[vectors];
#pragma clang loop unroll(full)
      for (int v = 0; v < vectors; ++v)
        whole[v] = Vectors::round(Vectors::toFloats(sums[r][v]), scales[v], bounds);
      Vectors::store(out + r * stride, columns, whole);
    }
  }
};

// Sums of a tile begin at those of its columns, to which `to` may add. The loops are unrolled for
// the sums to stay in registers.
template <typename Isa, int rows, int vectors, typename To>
MPC_INT8_INLINE void beginSums(const To &to, int64_t columns, Int8Sums<Isa> (&starts)[vectors],
                               Int8Sums<Isa> (&sums)[rows][vectors]) {
  to.begin(columns, starts);
#pragma clang loop unroll(full)
  for (int v = 0; v < vectors; ++v)
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; ++r)
      sums[r][v] = starts[v];
}

// Multiply<rows, vectors>::run for the rows and the columns that a tile has.
template <typename Isa, template <int, int> class Multiply> class TileTable {
public:
  using Run = decltype(&Multiply<1, 1>::run);
  static Run of(int64_t rows, int64_t columns) {
    return all.run[ceilDivide(columns, Isa::Vectors::lanes) - 1][rows - 1];
  }

private:
  static constexpr int mostVectors = Isa::stripColumns / Isa::Vectors::lanes;
  struct Table {
    Run run[mostVectors][Isa::panelRows];
  };
  template <int vectors, int... rows>
  static constexpr void fill(Table &table, std::integer_sequence<int, rows...> /*all*/) {
    ((table.run[vectors - 1][rows] = Multiply<rows + 1, vectors>::run), ...);
  }
  template <int... vectors>
  static constexpr Table make(std::integer_sequence<int, vectors...> /*all*/) {
    Table table{};
    (fill<vectors + 1>(table, std::make_integer_sequence<int, Isa::panelRows>()), ...);
    return table;
  }
  static constexpr Table all = make(std::make_integer_sequence<int, mostVectors>());
};

} // namespace mpc::rt

#endif
