// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions and the contraction epilogue, written once and compiled once per ISA level.
#ifndef MPC_RUNTIME_BASE_VECTOR_KERNELS_H
#define MPC_RUNTIME_BASE_VECTOR_KERNELS_H

#include <stddef.h>
#include <stdint.h>

namespace mpc::rt {

enum : uint32_t {
  epilogueBias = 1,       // + bias[n], then rounded again
  epilogueRelu = 2,       // negative becomes 0; NaN stays
  epilogueAccumulate = 4, // + what `out` held, then rounded
};
constexpr uint32_t epilogueFlagCount = 8;

// out[i] = round(activation(round(round(sum[i]) + bias[i]))) for one row; rounds are to the type of
// `out`. `sum` and a float32 `out` may be the same memory.
using EpilogueRow = void (*)(const float *sum, const float *bias, void *out, size_t count);
// The same of sums that `out` has rounded already.
using FinishRow = void (*)(const float *bias, void *out, size_t count);

// sums[i] += lhs[0] * rhs[0][i] + ... + lhs[rows - 1] * rhs[rows - 1][i], in float32; a row of rhs
// begins `stride` elements after the one before.
using AddProducts = void (*)(const float *lhs, const void *rhs, size_t stride, size_t rows,
                             float *sums, size_t count);

// Columns of integer weights that one pass sums, and how they lie in memory for it (a tile): the
// columns of each k one after the other, int8; or 32 bytes with two 4-bit numbers each, those of
// the columns 0 to 31 in the low halves.
constexpr size_t tileColumns = 64;
// sums[row][column] = sum_k lhs[row][k] tile[k][column], for the first `columns` of a tile.
using MultiplyTile = void (*)(const int8_t *tile, size_t k, const float *lhs, size_t rows,
                              float *sums, size_t sumStride, size_t columns);

// to[column] = round((weight - zero[column]) * scale[column]) of a tile's row of 4-bit numbers.
using ScaleRow = void (*)(const int8_t *row, const float *zero, const float *scale, float *to);

// row[column] = round(row[column] / divisor) of what a ScaleRow wrote.
using DivideRow = void (*)(float divisor, float *row);

// Bit i % 8 of mask[i / 8]: values[i] is greater than 0 (not NaN). What is left of the last byte is
// 0.
using MaskPositive = void (*)(const void *values, uint8_t *mask, size_t count);

// values[i] becomes 0 where bit i % 8 of where[i / 8] is not set.
using KeepWhere = void (*)(const uint8_t *where, void *values, size_t count);

// sums[i] += values[i], then the row that begins `stride` elements later, in this order.
using AddRows = void (*)(const void *values, size_t stride, size_t rows, float *sums, size_t count);

// Copies lines of 64 bytes, each at a multiple of that, into memory without displacing what the
// caches hold. A store fence has to come before another thread reads them.
using StoreLines = void (*)(const void *lines, void *to, size_t bytes);

struct VectorKernels {
  void (*widenBFloat16)(const uint16_t *from, float *to, size_t count);
  void (*widenFloat16)(const uint16_t *from, float *to, size_t count);
  void (*roundBFloat16)(const float *from, uint16_t *to, size_t count);
  void (*roundFloat16)(const float *from, uint16_t *to, size_t count);
  // The largest element without its sign bit, 0 of none: with floats' bit patterns, whether one is
  // infinite or NaN.
  uint32_t (*largest16)(const uint16_t *bits, size_t count);
  uint32_t (*largest32)(const uint32_t *bits, size_t count);
  // The names have the width of elements in bits.
  KeepWhere keepWhere16, keepWhere32;
  MaskPositive maskPositive[3]; // by dtype
  MultiplyTile multiplyInt8, multiplyInt4;
  ScaleRow scaleInt4[3]; // by dtype
  DivideRow divideWeights[3];
  // Indexed by dtype (MPC_RT_FLOAT32, _BFLOAT16, _FLOAT16) and epilogue flags.
  EpilogueRow epilogue[3][epilogueFlagCount];
  FinishRow finishBFloat16[epilogueAccumulate]; // by flags; null for none
  AddProducts addProducts[3];                   // by the dtype of rhs, as above
  // The same of a float32 rhs, each element rounded to the dtype first.
  AddProducts addRoundedProducts[3];
  AddRows addRows[3]; // by the dtype of values
  StoreLines storeAroundCaches;
};

// `isa` is an mpc_rt_isa_t that this CPU has.
const VectorKernels &vectorKernels(int isa) noexcept;

} // namespace mpc::rt

#endif
