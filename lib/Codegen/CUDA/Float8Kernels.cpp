// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Text of the kernels around products of float8: copies in the order that cuBLASLt takes, and in
// float16 where it takes none.
#include "lib/Codegen/CUDA/LibraryKernels.h"

llvm::StringRef mpc::getCudaFloat8Kernels() {
  return R"cuda(
// A matrix [rows, columns] of bytes becomes [columns, length], length being a multiple of 16, with
// zeros behind the rows; it may be turned already. A thread takes 16 rows of 4 columns.
__device__ inline void transposed(const TransposePart &t, const index i) {
  const index across = (t.columns + 3) / 4, along = t.length / 16;
  const bool by_words = t.columns % 4 == 0 && (size_t)t.from % 4 == 0;
  const index place = divided(i, across), matrix = divided(place, along);
  const index column = (i - place * across) * 4, row = (place - matrix * along) * 16;
  const unsigned char *from = (const unsigned char *)t.from + matrix * t.rows * t.columns;
  unsigned char *to = (unsigned char *)t.to + matrix * t.length * t.columns;
  pack<unsigned char, 16> columns[4];
#pragma unroll
  for (int r = 0; r < 16; ++r) {
    pack<unsigned char, 4> word = {};
    if (row + r < t.rows) {
      if (t.turned)
        for (int c = 0; c < 4 && column + c < t.columns; ++c)
          word.at[c] = from[(column + c) * t.rows + row + r];
      else if (by_words)
        word = *(const pack<unsigned char, 4> *)(from + (row + r) * t.columns + column);
      else
        for (int c = 0; c < 4 && column + c < t.columns; ++c)
          word.at[c] = from[(row + r) * t.columns + column + c];
    }
#pragma unroll
    for (int c = 0; c < 4; ++c)
      columns[c].at[r] = word.at[c];
  }
  for (int c = 0; c < 4 && column + c < t.columns; ++c)
    *(pack<unsigned char, 16> *)(to + (column + c) * t.length + row) = columns[c];
}
// The operands of a product, one or both.
extern "C" __global__ void __launch_bounds__(256)
    mpc_transposed_operands_8(const Transposes transposes, const index count) {
  for (index i = first_index(); i < count; i += index_step())
    if (i < transposes.parts[0].count)
      transposed(transposes.parts[0], i);
    else
      transposed(transposes.parts[1], i - transposes.parts[0].count);
}
// As float16, which holds every number of both formats.
__device__ inline f16 of_e4m3(unsigned char x) {
  const unsigned short sign = (x & 0x80) << 8, magnitude = x & 0x7f;
  const float scaled = widen(f16{(unsigned short)(magnitude << 7)}) * 256.0f;
  return f16{(unsigned short)(sign | (magnitude == 0x7f ? 0x7e00 : narrow_f16(scaled).bits))};
}
__device__ inline f16 of_e5m2(unsigned char x) { return f16{(unsigned short)(x << 8)}; }
template <f16 (*as_f16)(unsigned char)> __device__ inline void widened(const Widening &w, index i) {
  if (i < w.packs) {
    const pack<unsigned char, 8> from = ((const pack<unsigned char, 8> *)w.from)[i];
    pack<f16, 8> to;
#pragma unroll
    for (int k = 0; k < 8; ++k)
      to.at[k] = as_f16(from.at[k]);
    ((pack<f16, 8> *)w.to)[i] = to;
    return;
  }
  i += 7 * w.packs; // the first number that no pack has, and those behind it
  ((f16 *)w.to)[i] = as_f16(((const unsigned char *)w.from)[i]);
}
// Both operands of a product: packs of 8 numbers, then what is left.
extern "C" __global__ void __launch_bounds__(256)
    mpc_widened_operands_8(const Widenings widenings, const index count) {
  const index first = widenings.parts[0].count - 7 * widenings.parts[0].packs;
  for (index i = first_index(); i < count; i += index_step()) {
    const bool is_first = i < first;
    const Widening &w = widenings.parts[is_first ? 0 : 1];
    const index at = is_first ? i : i - first;
    if (w.e5m2)
      widened<of_e5m2>(w, at);
    else
      widened<of_e4m3>(w, at);
  }
}
)cuda";
}
