// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Text of the kernel that counts what an entry reports (runtime/drivers/cuda/value_counter.cpp), as
// runtime/numerics counts it: by bit patterns of the numbers as float32.
#include "lib/Codegen/CUDA/LibraryKernels.h"
#include "mpc-rt/dtype.h"
#include "runtime/rules/value_places.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mpc;

static const char kCounts[] = R"cuda(
// Its bits are float16's with a bias that is 8 less; all set are NaN.
__device__ inline float widen_f8e4m3(const unsigned char x) {
  const unsigned magnitude = x & 0x7f, sign = (unsigned)(x & 0x80) << 8;
  return magnitude == 0x7f ? f32_of_bits(0x7fc00000u)
                           : widen(f16{(unsigned short)(sign | magnitude << 7)}) * 256.0f;
}
// A number as float32 has it.
__device__ inline float counted_number(const void *x, const int dtype, const index i) {
  return dtype == dtype_float32 ? ((const float *)x)[i]
         : dtype == dtype_bfloat16 ? widen(((const bf16 *)x)[i])
         : dtype == dtype_float16 ? widen(((const f16 *)x)[i])
         : dtype == dtype_float64 ? (float)((const double *)x)[i]
         : dtype == value_of_e5m2
             ? widen(f16{(unsigned short)(((const unsigned char *)x)[i] << 8)})
             : widen_f8e4m3(((const unsigned char *)x)[i]);
}
__device__ inline unsigned sum_of_lanes(unsigned x) {
  for (int bit = 1; bit < 32; bit *= 2)
    x += other_lane(x, bit);
  return x;
}
// Numbers by the bits of their exponents, and those of float32's subnormals by their highest bit, a
// table for each warp of the block. A sum of doubles for each warp of the grid: its order depends on
// the number of threads alone.
extern "C" __global__ void __launch_bounds__(256)
    mpc_count_values(const ValueArguments v, const index count) {
  __shared__ unsigned tables[8][value_bins];
  unsigned *bins = tables[threadIdx.x / 32];
  const int lane = threadIdx.x % 32;
  for (int bin = lane; bin < value_bins; bin += 32)
    bins[bin] = 0;
  __syncwarp();
  unsigned zero = 0, subnormal = 0, infinite = 0, nan = 0, saturated = 0, lost = 0;
  unsigned smallest = 0x7fffffffu, largest = 0;
  double sum = 0, squares = 0;
  for (index i = first_index(); i < v.elements; i += index_step()) {
    float x = counted_number(v.value, v.dtype, i);
    if (v.is_change)
      x = v.dtype == dtype_float64
              ? (float)(((const double *)v.value)[i] - ((const double *)v.before)[i])
              : x - counted_number(v.before, v.before_dtype, i);
    const unsigned magnitude = bits_as<unsigned>(x) & 0x7fffffffu;
    if (magnitude >= 0x7f800000u) {
      nan += magnitude > 0x7f800000u;
      infinite += magnitude == 0x7f800000u;
      continue;
    }
    sum += x;
    squares += (double)x * x;
    if (magnitude == 0) {
      ++zero;
      if (v.before && !v.is_change)
        lost += (bits_as<unsigned>(counted_number(v.before, v.before_dtype, i)) & 0x7fffffffu) != 0;
      continue;
    }
    subnormal += magnitude < (unsigned)v.smallest_normal;
    saturated += magnitude == (unsigned)v.largest_finite;
    smallest = magnitude < smallest ? magnitude : smallest;
    largest = magnitude > largest ? magnitude : largest;
    const unsigned exponent = magnitude >> 23;
    atomicAdd(&bins[exponent ? exponent : value_subnormals + 31 - __clz(magnitude)], 1u);
  }
  __syncwarp();
  for (int bit = 1; bit < 32; bit *= 2) {
    sum += other_lane(sum, bit);
    squares += other_lane(squares, bit);
    const unsigned less = other_lane(smallest, bit), more = other_lane(largest, bit);
    smallest = less < smallest ? less : smallest;
    largest = more > largest ? more : largest;
  }
  const unsigned counts[value_counts] = {sum_of_lanes(zero),     sum_of_lanes(subnormal), sum_of_lanes(infinite),
                              sum_of_lanes(nan),      sum_of_lanes(saturated), sum_of_lanes(lost)};
  unsigned long long *const totals = (unsigned long long *)v.totals;
  for (int bin = lane; bin < value_bins; bin += 32)
    if (bins[bin])
      atomicAdd(&totals[value_counts + bin], (unsigned long long)bins[bin]);
  if (lane == 0) {
    for (int i = 0; i < value_counts; ++i)
      if (counts[i])
        atomicAdd(&totals[i], (unsigned long long)counts[i]);
    ValueSums *const sums = (ValueSums *)v.sums + first_row();
    sums->sum = sum;
    sums->squares = squares;
    sums->smallest = (int)smallest;
    sums->largest = (int)largest;
  }
}
)cuda";

std::string mpc::getCudaStatisticsKernels() {
  return llvm::formatv("enum value_places {{ value_counts = {0}, value_subnormals = {1}, "
                       "value_bins = {2}, value_of_e5m2 = {3} };",
                       rules::valueCounts, rules::valueSubnormals, rules::valueBins,
                       int(MPC_RT_FLOAT8_E5M2))
             .str() +
         kCounts;
}
