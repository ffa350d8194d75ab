// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Text of the kernels that sum the columns of a product's right operand behind products that
// cuBLASLt computes without them (runtime/drivers/cuda/contractor.cpp).
#include "lib/Codegen/CUDA/LibraryKernels.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mpc;

static const char kColumnSums[] = R"cuda(
// Sums of columns in float32, as one dtype_code of them all. A warp
// takes two packs of columns, a sector of memory in each row, and 16 rows at a time: one launch without
// memory between blocks, in an order that does not depend on their number.
__device__ inline float column_number(float x) { return x; }
__device__ inline float column_number(f16 x) { return widen(x); }
__device__ inline float column_number(bf16 x) { return widen(x); }
template <class T>
__device__ inline void column_sums(const T *x, void *sums, const int dtype, const index rows,
                                   const index columns) {
  const int width = 16 / sizeof(T), lane = threadIdx.x % 32;
  const bool by_packs = columns % width == 0 && (size_t)x % 16 == 0;
  for (index first = first_row() * 2 * width; first < columns; first += row_step() * 2 * width) {
    const index begin = first + lane % 2 * width;
    const int own = columns - begin >= width ? width : columns > begin ? (int)(columns - begin) : 0;
    float sum[width];
    for (int k = 0; k < width; ++k)
      sum[k] = 0;
    if (by_packs && own) {
#pragma unroll 8
      for (index row = lane / 2; row < rows; row += 16) {
        const pack<T, width> p = *(const pack<T, width> *)(x + row * columns + begin);
#pragma unroll
        for (int k = 0; k < width; ++k)
          sum[k] += column_number(p.at[k]);
      }
    } else {
      for (index row = lane / 2; row < rows; row += 16)
#pragma unroll
        for (int k = 0; k < width; ++k)
          if (k < own)
            sum[k] += column_number(x[row * columns + begin + k]);
    }
    for (int bit = 2; bit < 32; bit *= 2)
#pragma unroll
      for (int k = 0; k < width; ++k)
        sum[k] += other_lane(sum[k], bit);
#pragma unroll
    for (int k = 0; k < width; ++k)
      if (lane < 2 && k < own) {
        if (dtype == dtype_float32)
          ((float *)sums)[begin + k] = sum[k];
        else if (dtype == dtype_bfloat16)
          ((bf16 *)sums)[begin + k] = narrow_bf16(sum[k]);
        else
          ((f16 *)sums)[begin + k] = narrow_f16(sum[k]);
      }
  }
}
)cuda";

std::string mpc::getCudaColumnSumKernels() {
  std::string text = kColumnSums;
  for (auto [suffix, type] : {std::pair("f32", "float"), {"f16", "f16"}, {"bf16", "bf16"}})
    text +=
        llvm::formatv("extern \"C\" __global__ void __launch_bounds__(256)\n"
                      "    mpc_column_sums_{0}(const {1} *x, void *sums, const int dtype, const "
                      "index rows,\n                        const index columns, const index "
                      "count) {{\n  column_sums(x, sums, dtype, rows, columns);\n}\n",
                      suffix, type)
            .str();
  return text;
}
