// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Depthwise products of strips: what the windows of four pixels share is loaded once. Each sum has
// its terms in the order of the taps.
//
// This header is for files that are compiled once per ISA level: nothing here has external linkage.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_DEPTHWISE_STRIP_KERNELS_H
#define MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_DEPTHWISE_STRIP_KERNELS_H

#include "runtime/drivers/cpu/convolve/depthwise_kernels.h"
#include "runtime/drivers/cpu/kernels/float_vectors.h"

#include <stddef.h>

namespace mpc::rt {
namespace {

// Here and no later: clang would load many vectors before it adds the first one, for which there
// are too few registers.
inline void computeNow(Vector &sum) { asm volatile("" : "+v"(sum)); }

template <int64_t pixels, int64_t vectors>
void addBias(Vector (&sum)[pixels][vectors], const DepthwiseRows &p, int64_t channel) {
  if (!p.bias)
    return;
  for (int64_t v = 0; v < vectors; ++v) {
    const Vector bias = load(p.bias + channel + v * lanes);
    for (int64_t i = 0; i < pixels; ++i)
      sum[i][v] += bias;
  }
}

// Which of a strip's sources lie beside the row: none, half a window before it, behind it, or both,
// as at the edges of images that keep their size; or what the strip says.
enum class Beside { none, before, behind, both, any };

// Multiplies `atOnce` of `vectors` vectors of channels at a time, and the rest one by one. The
// loops are long as they are: unrolled further, or with the rest's in them, they only make the
// library larger.
template <int64_t taps, int64_t stride, bool reversed, Beside beside, int64_t atOnce>
void multiplyStrip(const DepthwiseForm &form, const DepthwiseStrip &strip, const DepthwiseRows &p,
                   int64_t vectors, int64_t channel = 0) {
  constexpr int64_t span = (pixelsOfStrip - 1) * stride + taps, half = taps / 2;
  const int64_t begin = beside == Beside::any ? strip.begin : beside == Beside::before ? half : 0;
  const int64_t end = beside == Beside::any      ? strip.end
                      : beside == Beside::behind ? span - half
                                                 : span;
  const int64_t rowStride = p.rowStride, rowCount = p.rowCount, start = strip.source * rowStride;
  if (rowCount <= 0)
    __builtin_unreachable();
  const int64_t firstTap = form.firstTap * lanes, tapStep = form.tapStep * lanes;
  const int64_t weightStride = p.weightsOfVector;
  const float *const *rows = p.rows, *const *weights = p.weights;
  float *const result = p.result + strip.pixel * p.resultStride;
  const int64_t resultStride = form.pixelStep * p.resultStride;
#pragma clang loop unroll(disable)
  for (; vectors >= atOnce; vectors -= atOnce, channel += atOnce * lanes) {
    // The next strip moves on by as many pixels; they go into the second-level cache.
#pragma clang loop unroll(disable)
    for (int64_t r = 0; r < p.nextCount; ++r)
      for (int64_t i = 0; i < pixelsOfStrip * stride; ++i)
        __builtin_prefetch(p.next[r] + (start + (half + i) * rowStride + channel), 0, 2);
    Vector sum[pixelsOfStrip][atOnce] = {};
#pragma clang loop unroll(disable)
    for (int64_t r = 0; r < rowCount; ++r)
#pragma GCC unroll 2
      for (int64_t v = 0; v < atOnce; ++v) {
        const int64_t lane = channel + v * lanes;
        const float *const row = rows[r];
        const int64_t from = start + lane;
        const float *weightsOfRow = weights[r] + lane * weightStride + firstTap;
        Vector weight[taps];
        for (int64_t t = 0; t < taps; ++t)
          weight[t] = load(weightsOfRow + t * tapStep);
#pragma GCC unroll 32
        for (int64_t step = 0; step < span; ++step) {
          const int64_t source = reversed ? span - 1 - step : step;
          if (source < begin || source >= end)
            continue;
          const Vector value = load(row + (from + source * rowStride));
#pragma GCC unroll 8
          for (int64_t t = 0; t < taps; ++t) {
            const int64_t offset = source - (reversed ? taps - 1 - t : t);
            if (offset < 0 || offset % stride != 0 || offset / stride >= pixelsOfStrip)
              continue;
            Vector &sumOfPixel = sum[offset / stride][v];
            sumOfPixel = multiplyAdd(value, weight[t], sumOfPixel);
            computeNow(sumOfPixel);
          }
        }
      }
    addBias(sum, p, channel);
    for (int64_t i = 0; i < pixelsOfStrip; ++i)
      for (int64_t v = 0; v < atOnce; ++v)
        store(sum[i][v], result + i * resultStride + channel + v * lanes);
  }
  if constexpr (atOnce > 1)
    if (vectors > 0)
      multiplyStrip<taps, stride, reversed, Beside::any, 1>(form, strip, p, vectors, channel);
}

struct StripKernels {
  using Multiply = void (*)(const DepthwiseForm &, const DepthwiseStrip &, const DepthwiseRows &,
                            int64_t vectors, int64_t channel);
  int64_t span, half;
  Multiply whole, first, last, any;

  Multiply find(const DepthwiseStrip &strip) const {
    const int64_t before = strip.begin, behind = span - strip.end;
    if (behind == 0)
      return before == 0 ? whole : before == half ? first : any;
    return before == 0 && behind == half ? last : any;
  }
};
// CPUs without AVX2 have one kernel for all.
template <int64_t taps, int64_t stride, bool reversed, Beside beside>
constexpr StripKernels::Multiply stripKernel = multiplyStrip < taps,
                                 stride, reversed, MPC_ISA_LEVEL >= 3 ? beside : Beside::any, 2 > ;
template <int64_t taps, int64_t stride, bool reversed>
constexpr StripKernels stripKernels = {(pixelsOfStrip - 1) * stride + taps,
                                       taps / 2,
                                       stripKernel<taps, stride, reversed, Beside::none>,
                                       stripKernel<taps, stride, reversed, Beside::before>,
                                       stripKernel<taps, stride, reversed, Beside::behind>,
                                       stripKernel<taps, stride, reversed, Beside::any>};

// The windows of models: of three, five and seven pixels, and what their gradients meet.
inline const StripKernels *findStripKernels(const DepthwiseForm &form) {
  const bool moves1 = form.stride == 1 && !form.reversed;
  const bool moves2 = form.stride == 2 && !form.reversed;
  const bool isReversed = form.stride == 1 && form.reversed;
  switch (form.taps) {
  case 2:
    return isReversed ? &stripKernels<2, 1, true> : nullptr;
  case 3:
    return moves1       ? &stripKernels<3, 1, false>
           : moves2     ? &stripKernels<3, 2, false>
           : isReversed ? &stripKernels<3, 1, true>
                        : nullptr;
  case 5:
    return moves1       ? &stripKernels<5, 1, false>
           : moves2     ? &stripKernels<5, 2, false>
           : isReversed ? &stripKernels<5, 1, true>
                        : nullptr;
  case 7:
    return moves1 ? &stripKernels<7, 1, false> : isReversed ? &stripKernels<7, 1, true> : nullptr;
  default:
    return nullptr;
  }
}

// Rows of the result that meet padding alone.
inline void fillStrip(const DepthwiseForm &form, const DepthwiseStrip &strip,
                      const DepthwiseRows &p, int64_t vectors) {
  for (int64_t i = 0; i < pixelsOfStrip; ++i) {
    float *to = p.result + (strip.pixel + i * form.pixelStep) * p.resultStride;
    for (int64_t channel = 0; channel < vectors * lanes; channel += lanes) {
      Vector sum[1][1] = {};
      addBias(sum, p, channel);
      store(sum[0][0], to + channel);
    }
  }
}

inline void multiplyStrips(const DepthwiseForm &form, const DepthwiseStrip *strips, int64_t count,
                           const DepthwiseRows &rows, int64_t vectors) {
  const StripKernels &kernels = *findStripKernels(form);
  for (int64_t i = 0; i < count; ++i)
    if (rows.rowCount > 0)
      kernels.find(strips[i])(form, strips[i], rows, vectors, 0);
    else
      fillStrip(form, strips[i], rows, vectors);
}

inline bool hasStrips(const DepthwiseForm &form) { return findStripKernels(form) != nullptr; }

} // namespace
} // namespace mpc::rt

#endif
