// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The inner loops of depthwise convolutions, written once and compiled once per ISA level, on rows
// of places in float32 whose channels are padded to whole vectors.
#ifndef MPC_RUNTIME_DRIVERS_CPU_DEPTHWISE_KERNELS_H
#define MPC_RUNTIME_DRIVERS_CPU_DEPTHWISE_KERNELS_H

#include <stdint.h>

namespace mpc::rt {

// result[places[i]] = sum over rows r and taps t of rows[r][sources[i] + distances[t]] *
// weights[r][taps[t]], i < count. Strides are elements from place to place, from tap to tap.
struct DepthwiseProduct {
  const int64_t *places, *sources;
  int64_t count;
  const int64_t *taps, *distances;
  int64_t tapCount;
  const float *const *rows, *const *weights;
  int64_t rowCount;
  int64_t rowStride, weightStride;
  float *result;
  int64_t resultStride;
};

// What a tap meets in a row: the outputs [first, end) do, and output o the image at `source + o *
// step`.
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
};

struct DepthwiseKernels {
  int64_t lanes; // of a vector
  // `channels` elements of each place become float32, what is left of a vector 0. By dtype, as the
  // next one.
  void (*widen[3])(const void *from, int64_t fromStride, int64_t places, int64_t channels,
                   float *to, int64_t stride);
  // out = round(activation(round(round(sum) + bias))) for the channels of each place; bias is null
  // where there is none.
  void (*finish[3])(const float *sums, int64_t stride, int64_t places, int64_t channels,
                    const float *bias, bool relu, void *out, int64_t outStride);
  // For so many vectors of channels.
  void (*multiply)(const DepthwiseProduct &product, int64_t vectors);
  void (*correlate)(const DepthwiseCorrelation &correlation, int64_t vectors);
};

// `isa` is an mpc_rt_isa_t that this CPU has.
const DepthwiseKernels &depthwiseKernels(int isa) noexcept;

} // namespace mpc::rt

#endif
