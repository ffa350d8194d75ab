// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floating rows by integer weights in the manner of micro_kernel.h: the tiles of multiplyInt8 and
// multiplyInt4 (vector_kernels.h) become panels, a piece at a time in the first-level cache.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_WEIGHT_KERNEL_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_WEIGHT_KERNEL_H

#include "runtime/drivers/cpu/kernels/micro_kernel.h"

namespace mpc::rt {

// Some rows of a tile of weights.
struct WeightRows {
  const int8_t *numbers;              // [rows, 64], of int4 [rows, 32 bytes]
  int64_t rows;                       // that exist
  const float *adjustments = nullptr; // [blocks][zeros of 64 columns, their scales]
  const int32_t *blocks = nullptr;    // of each row
  const float *factors = nullptr;     // of each row: what divides it, or what it is multiplied with
};
// Writes a panel of `steps` steps: the numbers, or (number - zero) * scale, rounded to a dtype, or
// that divided (or multiplied) and rounded again.
using WidenWeights = void (*)(const WeightRows &from, int64_t steps, void *panel);

// Columns of 4-bit weights whose k lie together: 128 numbers are 64 bytes, and number i of them is
// the part i / 32 (from the low bits on) of 16-bit word i % 32. Those of ColumnWork::columns
// columns lie next to each other, so that one stream is read.
constexpr int64_t columnChunk = 128, columnStep = 32;

// Columns of 4-bit weights in pairs of rows: pairRun rows of pairColumns columns are 64 bytes, and
// those of a tile's columns follow each other. 32-bit word 2 * c + p has of column c, from the low
// bits on, the numbers of rows p, p + 2, p + 4 and so on, each with 8 added.
constexpr int64_t pairRun = 16, pairColumns = 8;

// A few rows by so many columns.
struct ColumnWork {
  static constexpr int64_t columns = 8, mostRows = 4;
  const int8_t *numbers; // [chunks, columns, 64 bytes]
  int64_t count;         // columns that exist
  // The zeros of these columns in their tile, and 64 numbers behind them the scales, both of block
  // 0.
  const float *adjustments;
  const int32_t *blocks;     // of each row of the weights
  const float *factors;      // [steps, columnStep], what rows are divided by or multiplied with
  int64_t steps, blockSteps; // of columnStep rows: all, and those of a block
  const void *lhs;           // as the kernel wants it
  int64_t lhsStride;         // elements: steps, filled up with zeros
  float *sums;
  int64_t sumStride;
};

struct ColumnKernel {
  // Steps of lhs and of factors have the rows with even numbers first.
  bool evenFirst = false;
  // The index is the number of rows less one; null where there is no such kernel.
  void (*multiply[ColumnWork::mostRows])(const ColumnWork &work) = {};
};

struct WeightKernel {
  const char *name;
  const MicroKernel &kernel;  // packs lhs
  int64_t steps;              // of a panel that stays in the first-level cache
  WidenWeights numbers[2];    // of int8 and int4
  WidenWeights scaled[3];     // of int4, by the dtype of lhs; null where another kernel has it
  WidenWeights divided[3];    // the same
  WidenWeights multiplied[3]; // where dtypes allow that instead of dividing
  // Numbers in pairs are scaled, and in the second case multiplied with factors as well. Blocks
  // begin with runs; factors and the panel have room for whole ones. Null where there is no such
  // kernel.
  WidenWeights pairs[2];
  // The index is the number of rows of a tile that exist, less one; lhs panels always have all.
  void (*multiply[6])(const MicroTile &tile);
  // The indices are the dtype of lhs, whose 16-bit numbers are there in float32 unless the panels
  // have bfloat16, and whether weights have factors.
  ColumnKernel columns[3][2];
};

extern const WeightKernel avx512Float32Weights, avx512BFloat16Weights;

// The kernel for rows of that dtype on this CPU, of those up to `isa`; null where there is none.
const WeightKernel *weightKernel(int isa, int dtype) noexcept;

} // namespace mpc::rt

#endif
