// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The inner loops of depthwise convolutions, written once and compiled once per ISA level, on rows
// of pixels in float32 whose channels are padded to whole vectors.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_DEPTHWISE_KERNELS_H
#define MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_DEPTHWISE_KERNELS_H

#include "runtime/drivers/cpu/kernels/micro_kernel.h"
#include "runtime/drivers/result_kernel.h"

#include <stdint.h>

namespace mpc::rt {

// The rows of images that the windows of a row of the result meet, with the rows of the filter that
// meet them. Strides are elements from pixel to pixel. Weights are packed: each vector of channels
// has `weightsOfVector` vectors, tap by tap of the whole filter.
struct DepthwiseRows {
  const float *const *rows, *const *weights;
  int64_t rowCount, rowStride, weightsOfVector;
  float *result;
  int64_t resultStride;
  const float *bias; // added to sums; null: none
  // Rows that the next row of the result meets first, to be fetched meanwhile.
  const float *const *next;
  int64_t nextCount;
};

// result[pixels[i]] = sum over rows r and taps t of rows[r][sources[i] + distances[t]] *
// weights[r][taps[t]], i < count.
struct DepthwiseWindows {
  const int64_t *pixels, *sources;
  int64_t count;
  const int64_t *taps, *distances;
  int64_t tapCount;
};

// Four pixels of the result at a time, `pixelStep` apart, whose windows share sources: from each to
// the next they move by `stride` sources. The taps of a window are firstTap, firstTap + tapStep,
// ... for its sources from the first one on, or if `reversed` from the last one back.
struct DepthwiseForm {
  int64_t taps, stride, firstTap, tapStep, pixelStep;
  bool reversed;
};
constexpr int64_t pixelsOfStrip = 4;
// The strip starts at the result's `pixel` and at the source `source`. Only sources from `begin` to
// `end`, counted from `source`, exist; the others lie beside the row.
struct DepthwiseStrip {
  int64_t pixel, source, begin, end;
};

// The pairs of pixels that a tap joins in a row: each output o in [first, end) and the image at
// `source + o * step`.
struct DepthwiseTap {
  int64_t first, end, source;
};

// sums[t] += sum over outputs o of tap t of images[source + o * step] * outputs[o].
struct DepthwiseCorrelation {
  const DepthwiseTap *taps;
  int64_t tapCount, step;
  const float *images, *outputs;
  int64_t imageStride, outputStride;
  float *sums;
  int64_t sumStride;
  // This memory is needed later and fetched meanwhile: a line with each output, so many bytes
  // behind the one before, and with each vector.
  const uint8_t *next;
  int64_t nextPixelBytes, nextVectorBytes;
};

// Makes numbers of 8 bits of whole sums that float32 holds, `stride` from pixel to pixel, with
// `offset` added to those of each channel.
using RequantizeFloats = void (*)(const float *sums, int64_t stride, int64_t pixels,
                                  int64_t channels, const float *offset, const RequantizedSums &to);

struct DepthwiseKernels {
  int64_t lanes; // of a vector
  // `channels` elements of each pixel become float32, what is left of a vector 0. By dtype, as the
  // next one.
  void (*widen[3])(const void *from, int64_t fromStride, int64_t pixels, int64_t channels,
                   float *to, int64_t stride);
  FinishPixels finish[3];
  // widenIntegers takes int8 and subtracts `border`; finishIntegers adds `offset` to sums, which
  // are whole numbers, and gives int32.
  void (*widenIntegers)(const int8_t *from, int64_t fromStride, int64_t pixels, int64_t channels,
                        int8_t border, float *to, int64_t stride);
  void (*finishIntegers)(const float *sums, int64_t stride, int64_t pixels, int64_t channels,
                         const float *offset, int32_t *out, int64_t outStride);
  RequantizeFloats requantize; // null: none
  // The kernels take this number of vectors of channels.
  void (*multiply)(const DepthwiseWindows &windows, const DepthwiseRows &rows, int64_t vectors);
  void (*multiplyStrips)(const DepthwiseForm &form, const DepthwiseStrip *strips, int64_t count,
                         const DepthwiseRows &rows, int64_t vectors);
  bool (*hasStrips)(const DepthwiseForm &form); // whether multiplyStrips() knows it
  void (*correlate)(const DepthwiseCorrelation &correlation, int64_t vectors);
};

// `isa` is an mpc_rt_isa_t that this CPU has.
const DepthwiseKernels &depthwiseKernels(int isa) noexcept;

} // namespace mpc::rt

#endif
