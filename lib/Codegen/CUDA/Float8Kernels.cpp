// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Text of the kernels around products of float8: copies in the order that cuBLASLt takes, and in
// float16 where it takes none.
#include "lib/Codegen/CUDA/LibraryKernels.h"

llvm::StringRef mpc::getCudaFloat8Kernels() {
  return R"cuda(
// [rows, columns] of bytes as [columns, length], length being a multiple of 16, with zeros behind the
// rows: a thread takes 16 rows of 4 columns.
extern "C" __global__ void __launch_bounds__(256)
    mpc_turned_8(const unsigned char *x, unsigned char *y, const index rows, const index columns,
                 const index length, const index count) {
  const index across = (columns + 3) / 4, along = length / 16;
  const bool by_words = columns % 4 == 0 && (size_t)x % 4 == 0;
  for (index i = first_index(); i < count; i += index_step()) {
    const index column = i % across * 4, row = i / across % along * 16;
    const unsigned char *from = x + i / across / along * rows * columns;
    unsigned char *to = y + i / across / along * length * columns;
    pack<unsigned char, 16> turned[4];
#pragma unroll
    for (int r = 0; r < 16; ++r) {
      pack<unsigned char, 4> word = {};
      if (row + r < rows) {
        if (by_words)
          word = *(const pack<unsigned char, 4> *)(from + (row + r) * columns + column);
        else
          for (int c = 0; c < 4 && column + c < columns; ++c)
            word.at[c] = from[(row + r) * columns + column + c];
      }
#pragma unroll
      for (int c = 0; c < 4; ++c)
        turned[c].at[r] = word.at[c];
    }
    for (int c = 0; c < 4 && column + c < columns; ++c)
      *(pack<unsigned char, 16> *)(to + (column + c) * length + row) = turned[c];
  }
}
// As float16, which holds every number of both formats.
__device__ inline f16 of_e4m3(unsigned char x) {
  const unsigned short sign = (x & 0x80) << 8, magnitude = x & 0x7f;
  const float scaled = widen(f16{(unsigned short)(magnitude << 7)}) * 256.0f;
  return f16{(unsigned short)(sign | (magnitude == 0x7f ? 0x7e00 : narrow_f16(scaled).bits))};
}
__device__ inline f16 of_e5m2(unsigned char x) { return f16{(unsigned short)(x << 8)}; }
template <f16 (*as_f16)(unsigned char)>
__device__ inline void widened(const unsigned char *x, f16 *y, const index count) {
  const index packs = (size_t)x % 8 == 0 && (size_t)y % 16 == 0 ? count / 8 : 0;
  for (index i = first_index(); i < packs; i += index_step()) {
    const pack<unsigned char, 8> from = ((const pack<unsigned char, 8> *)x)[i];
    pack<f16, 8> to;
#pragma unroll
    for (int k = 0; k < 8; ++k)
      to.at[k] = as_f16(from.at[k]);
    ((pack<f16, 8> *)y)[i] = to;
  }
  for (index i = packs * 8 + first_index(); i < count; i += index_step())
    y[i] = as_f16(x[i]);
}
extern "C" __global__ void __launch_bounds__(256)
    mpc_widened_e4m3(const unsigned char *x, f16 *y, const index count) {
  widened<of_e4m3>(x, y, count);
}
extern "C" __global__ void __launch_bounds__(256)
    mpc_widened_e5m2(const unsigned char *x, f16 *y, const index count) {
  widened<of_e5m2>(x, y, count);
}
)cuda";
}
