// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of whole sums that float32 holds, as depthwise convolutions have them.
#include "runtime/drivers/cpu/kernels/requantized_rows.h"
#include "runtime/drivers/cpu/kernels/int8_kernel.h"

namespace mpc::rt {
namespace {

using requantized::lanes;

template <int vectors>
MPC_V4 void requantizeChannels(const float *sums, int64_t stride, int64_t pixels, int64_t channels,
                               const float *offset, const RequantizedSums &to) {
  const requantized::Bounds bounds(to);
  __m512 offsets[vectors], scales[vectors];
  __m512i bias[vectors];
#pragma clang loop unroll(full)
  for (int v = 0; v < vectors; ++v) {
    offsets[v] = _mm512_castsi512_ps(requantized::loadFirst(offset, channels, v));
    scales[v] = _mm512_castsi512_ps(requantized::loadFirst(to.scale, channels, v));
    bias[v] = to.bias ? requantized::loadFirst(to.bias, channels, v) : _mm512_setzero_si512();
  }
  int8_t *out = to.out;
  for (int64_t pixel = 0; pixel < pixels; ++pixel, sums += stride, out += to.stride) {
    __m512i whole[vectors];
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v) {
      const __m512 sum = _mm512_add_ps(_mm512_loadu_ps(sums + lanes * v), offsets[v]);
      const __m512i withBias = _mm512_add_epi32(_mm512_cvtps_epi32(sum), bias[v]);
      whole[v] = requantized::round(_mm512_cvtepi32_ps(withBias), scales[v], bounds);
    }
    requantized::store(out, channels, whole, bounds);
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
