// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of whole sums that float32 holds, as depthwise convolutions have them.
#include "runtime/drivers/cpu/kernels/requantized_rows.h"
#include "runtime/drivers/cpu/kernels/int8_kernel.h"

namespace mpc::rt {
namespace {

using requantized::lanes;

// float32 holds sums of rules::mostIntegerTaps products of int8, below 2^23.01, and twice this
// beside them, exactly.
constexpr float mostExactBias = 1 << 22;

template <int vectors>
MPC_V4 void requantizeChannels(const float *sums, int64_t stride, int64_t pixels, int64_t channels,
                               const float *offset, const RequantizedSums &to) {
  const requantized::Bounds bounds(to);
  __m512 offsets[vectors], scales[vectors];
  __m512i bias[vectors];
  bool isExact = true; // with the bias
#pragma clang loop unroll(full)
  for (int v = 0; v < vectors; ++v) {
    offsets[v] = _mm512_castsi512_ps(requantized::loadFirst(offset, channels, v));
    scales[v] = _mm512_castsi512_ps(requantized::loadFirst(to.scale, channels, v));
    bias[v] = to.bias ? requantized::loadFirst(to.bias, channels, v) : _mm512_setzero_si512();
    const __m512 most = _mm512_set1_ps(mostExactBias);
    isExact &=
        _mm512_cmp_ps_mask(_mm512_abs_ps(offsets[v]), most, _CMP_NLE_UQ) == 0 &&
        _mm512_cmp_ps_mask(_mm512_abs_ps(_mm512_cvtepi32_ps(bias[v])), most, _CMP_NLE_UQ) == 0;
  }
  const auto requantize = [&](auto withBias) MPC_V4 __attribute__((always_inline)) {
    int8_t *out = to.out;
    for (int64_t pixel = 0; pixel < pixels; ++pixel, sums += stride, out += to.stride) {
      __m512i whole[vectors];
#pragma clang loop unroll(full)
      for (int v = 0; v < vectors; ++v)
        whole[v] = requantized::round(
            withBias(_mm512_add_ps(_mm512_loadu_ps(sums + lanes * v), offsets[v]), v), scales[v],
            bounds);
      requantized::store(out, channels, whole, bounds);
    }
  };
  if (isExact) {
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v)
      offsets[v] = _mm512_add_ps(offsets[v], _mm512_cvtepi32_ps(bias[v]));
    requantize([](__m512 sum, int) MPC_V4 __attribute__((always_inline)) { return sum; });
  } else {
    requantize([&](__m512 sum, int v) MPC_V4 __attribute__((always_inline)) {
      return _mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_cvtps_epi32(sum), bias[v]));
    });
  }
}

// Sums are padded to whole vectors.
void requantizeFloats(const float *sums, int64_t stride, int64_t pixels, int64_t channels,
                      const float *offset, const RequantizedSums &to) {
  constexpr decltype(&requantizeChannels<1>) ofVectors[] = {
      requantizeChannels<1>, requantizeChannels<2>, requantizeChannels<3>, requantizeChannels<4>};
  constexpr int64_t atOnce = lanes * requantized::mostVectors;
  for (int64_t channel = 0; channel < channels; channel += atOnce) {
    const int64_t count = std::min(channels - channel, atOnce);
    ofVectors[(count - 1) / lanes](sums + channel, stride, pixels, count, offset + channel,
                                   to.from(0, channel));
  }
}

} // namespace

const RequantizeFloats avx512RequantizeFloats = requantizeFloats;

} // namespace mpc::rt
