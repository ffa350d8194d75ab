// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers of 8 bits made of rows of whole sums that float32 holds, as depthwise convolutions have
// them. For files that are compiled once per ISA level (MPC_ISA_LEVEL), from 3 on.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_REQUANTIZED_ROWS_H
#define MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_REQUANTIZED_ROWS_H

#include "runtime/drivers/cpu/kernels/float_vectors.h"
#include "runtime/drivers/cpu/kernels/requantized_vectors.h"

namespace mpc::rt {
namespace {

#if MPC_ISA_LEVEL >= 4
using RowVectors = Avx512Vectors;
#else
using RowVectors = Avx2Vectors;
#endif
using Integers = int32_t __attribute__((vector_size(lanes * sizeof(int32_t))));

// float32 holds sums of rules::mostIntegerTaps products of int8, below 2^23.01, and twice this
// beside them, exactly.
constexpr float mostExactBias = 1 << 22;

inline bool isExact(Vector value) {
  const Integers larger = !(__builtin_elementwise_abs(value) < mostExactBias);
  return __builtin_reduce_or(larger) == 0;
}
inline Vector toFloats(Integers value) { return __builtin_convertvector(value, Vector); }

template <int vectors>
void requantizeChannels(const float *sums, int64_t stride, int64_t pixels, int64_t channels,
                        const float *offset, const RequantizedSums &to) {
  const typename RowVectors::Bounds bounds(to);
  Vector offsets[vectors], scales[vectors];
  Integers bias[vectors];
  bool areExact = true; // with the bias
#pragma clang loop unroll(full)
  for (int v = 0; v < vectors; ++v) {
    offsets[v] = RowVectors::loadFirstFloats(offset, channels, v);
    scales[v] = RowVectors::loadFirstFloats(to.scale, channels, v);
    bias[v] = Integers(to.bias ? RowVectors::loadFirst(to.bias, channels, v) : RowVectors::zeros());
    areExact &= isExact(offsets[v]) && isExact(toFloats(bias[v]));
  }
  const auto requantize = [&](auto withBias) __attribute__((always_inline)) {
    int8_t *out = to.out;
    for (int64_t pixel = 0; pixel < pixels; ++pixel, sums += stride, out += to.stride) {
      RowVectors::Integers whole[vectors];
#pragma clang loop unroll(full)
      for (int v = 0; v < vectors; ++v)
        whole[v] =
            RowVectors::round(withBias(load(sums + lanes * v) + offsets[v], v), scales[v], bounds);
      RowVectors::store(out, channels, whole);
    }
  };
  if (areExact) {
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v)
      offsets[v] += toFloats(bias[v]);
    requantize([](Vector sum, int) __attribute__((always_inline)) { return sum; });
  } else {
    requantize([&](Vector sum, int v) __attribute__((always_inline)) {
      using Wrapping = uint32_t __attribute__((vector_size(lanes * sizeof(uint32_t))));
      const Integers whole = __builtin_convertvector(sum, Integers);
      return toFloats(Integers(Wrapping(whole) + Wrapping(bias[v])));
    });
  }
}

// Sums are padded to whole vectors.
void requantizeFloats(const float *sums, int64_t stride, int64_t pixels, int64_t channels,
                      const float *offset, const RequantizedSums &to) {
#if MPC_ISA_LEVEL >= 4
  constexpr decltype(&requantizeChannels<1>) ofVectors[] = {
      requantizeChannels<1>, requantizeChannels<2>, requantizeChannels<3>, requantizeChannels<4>};
#else
  constexpr decltype(&requantizeChannels<1>) ofVectors[] = {requantizeChannels<1>,
                                                            requantizeChannels<2>};
#endif
  constexpr int64_t atOnce = lanes * RowVectors::most;
  for (int64_t channel = 0; channel < channels; channel += atOnce) {
    const int64_t left = channels - channel, count = left < atOnce ? left : atOnce;
    ofVectors[(count - 1) / lanes](sums + channel, stride, pixels, count, offset + channel,
                                   to.from(0, channel));
  }
}

} // namespace
} // namespace mpc::rt

#endif
