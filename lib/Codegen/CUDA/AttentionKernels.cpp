// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Text of the kernels around the products of attention, for devices and shapes without cuDNN. The
// structs are those of runtime/rules/cuda_kernels.inc.
#include "lib/Codegen/CUDA/LibraryKernels.h"

llvm::StringRef mpc::getCudaAttentionKernels() {
  return R"cuda(
// Sources of a row that count.
__device__ inline index visible_sources(const ScoreArguments &s, const index row) {
  const index target = modulo(row, s.targets);
  return s.causal && target + 1 < s.sources ? target + 1 : s.sources;
}
// [samples, rows, columns, width] as [samples, columns, rows, width], of several tensors.
template <class T> __device__ inline void exchanged(const Exchange &e, const index count) {
  for (index i = first_index(); i < count; i += index_step()) {
    index at = i;
    int k = 0;
    for (; at >= e.parts[k].count; ++k)
      at -= e.parts[k].count;
    const ExchangePart &p = e.parts[k];
    const index place = divided(at, p.width), w = at - place * p.width;
    const index block = divided(place, p.rows), row = place - block * p.rows;
    const index sample = divided(block, p.columns), column = block - sample * p.columns;
    ((T *)p.to)[at] = ((const T *)p.from)[((sample * p.rows + row) * p.columns + column) * p.width + w];
  }
}
extern "C" __global__ void __launch_bounds__(256)
    mpc_exchanged_16(const Exchange e, const index count) {
  exchanged<unsigned short>(e, count);
}
extern "C" __global__ void __launch_bounds__(256)
    mpc_exchanged_32(const Exchange e, const index count) {
  exchanged<unsigned>(e, count);
}
extern "C" __global__ void __launch_bounds__(256)
    mpc_exchanged_64(const Exchange e, const index count) {
  exchanged<unsigned long long>(e, count);
}

// Products of queries and keys become their softmax; a warp takes a row.
template <class Sum>
__device__ inline void attention_softmax(const ScoreArguments s, void *scores, Sum *log_sums) {
  const int lane = threadIdx.x % 32;
  for (index row = first_row(); row < s.rows; row += row_step()) {
    const index begin = row * s.sources, visible = visible_sources(s, row);
    Sum top = -(Sum)f32_of_bits(0x7f800000);
    for (index u = lane; u < visible; u += 32)
      top = maximum(top, (Sum)s.scale * element<Sum>(scores, s.dtype, begin + u));
    for (int bit = 16; bit > 0; bit /= 2)
      top = maximum(top, other_lane(top, bit));
    Sum sum = 0;
    for (index u = lane; u < visible; u += 32)
      sum += exp((Sum)s.scale * element<Sum>(scores, s.dtype, begin + u) - top);
    for (int bit = 16; bit > 0; bit /= 2)
      sum += other_lane(sum, bit);
    for (index u = lane; u < s.sources; u += 32)
      set_element(scores, s.dtype, begin + u,
                  u < visible ? exp((Sum)s.scale * element<Sum>(scores, s.dtype, begin + u) - top) / sum
                              : (Sum)0);
    if (lane == 0)
      log_sums[row] = top + log(sum);
  }
}
extern "C" __global__ void __launch_bounds__(256)
    mpc_attention_softmax_f32(const ScoreArguments s, void *scores, float *log_sums, const index count) {
  attention_softmax(s, scores, log_sums);
}
extern "C" __global__ void __launch_bounds__(256)
    mpc_attention_softmax_f64(const ScoreArguments s, void *scores, double *log_sums, const index count) {
  attention_softmax(s, scores, log_sums);
}

// Sums along the width of cotangents times results, which come as [samples, targets, heads, width].
template <class Sum>
__device__ inline void attention_row_sums(const ScoreArguments s, const void *cotangent, const void *out,
                                          Sum *sums, const index heads, const index width) {
  const int lane = threadIdx.x % 32;
  for (index row = first_row(); row < s.rows; row += row_step()) {
    const index pair = row / s.targets;
    const index begin = ((pair / heads * s.targets + row % s.targets) * heads + pair % heads) * width;
    Sum sum = 0;
    for (index w = lane; w < width; w += 32)
      sum += element<Sum>(cotangent, s.dtype, begin + w) * element<Sum>(out, s.dtype, begin + w);
    for (int bit = 16; bit > 0; bit /= 2)
      sum += other_lane(sum, bit);
    if (lane == 0)
      sums[row] = sum;
  }
}
extern "C" __global__ void __launch_bounds__(256)
    mpc_attention_row_sums_f32(const ScoreArguments s, const void *cotangent, const void *out, float *sums,
                               const index heads, const index width, const index count) {
  attention_row_sums(s, cotangent, out, sums, heads, width);
}
extern "C" __global__ void __launch_bounds__(256)
    mpc_attention_row_sums_f64(const ScoreArguments s, const void *cotangent, const void *out, double *sums,
                               const index heads, const index width, const index count) {
  attention_row_sums(s, cotangent, out, sums, heads, width);
}

// Products of queries and keys become their softmax again, those of cotangents and values the
// derivatives of the former.
template <class Sum>
__device__ inline void attention_derivative(const ScoreArguments s, void *scores, void *derivative,
                                            const Sum *log_sums, const Sum *sums, const index count) {
  for (index i = first_index(); i < count; i += index_step()) {
    const index row = i / s.sources;
    const Sum weight = i % s.sources < visible_sources(s, row)
                           ? exp((Sum)s.scale * element<Sum>(scores, s.dtype, i) - log_sums[row])
                           : (Sum)0;
    set_element(scores, s.dtype, i, weight);
    set_element(derivative, s.dtype, i,
                (Sum)s.scale * weight * (element<Sum>(derivative, s.dtype, i) - sums[row]));
  }
}
extern "C" __global__ void __launch_bounds__(256)
    mpc_attention_derivative_f32(const ScoreArguments s, void *scores, void *derivative,
                                 const float *log_sums, const float *sums, const index count) {
  attention_derivative(s, scores, derivative, log_sums, sums, count);
}
extern "C" __global__ void __launch_bounds__(256)
    mpc_attention_derivative_f64(const ScoreArguments s, void *scores, void *derivative,
                                 const double *log_sums, const double *sums, const index count) {
  attention_derivative(s, scores, derivative, log_sums, sums, count);
}
)cuda";
}
