// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled once per ISA level, as vector_kernels.cpp is.
#include "runtime/drivers/cpu/convolve/depthwise_kernels.h"
#include "runtime/base/vector_types.h"
#include "runtime/drivers/cpu/convolve/depthwise_strip_kernels.h"
#if MPC_ISA_LEVEL >= 3
#include "runtime/drivers/cpu/convolve/requantized_rows.h"
#endif

#define MPC_CONCAT_(a, b) a##b
#define MPC_CONCAT(a, b) MPC_CONCAT_(a, b)

namespace mpc::rt {
namespace {

// Eight sums in registers hide the latency of additions: of four pixels in two vectors, or of
// fewer pixels in up to four.
constexpr int64_t mostPixels = 4;
// Taps whose sums in two vectors fit into registers beside the operands.
constexpr int64_t mostTaps = MPC_ISA_LEVEL >= 4 ? 7 : 5;

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// ---- Conversions --------------------------------------------------------------------------------

template <typename Type>
void widen(const void *from, int64_t fromStride, int64_t pixels, int64_t channels, float *to,
           int64_t stride) {
  auto *source = static_cast<const typename Type::Storage *>(from);
  if (fromStride == channels && stride == channels) { // one run, not many short ones
    channels *= pixels;
    pixels = 1;
  }
  const int64_t padded = (channels + lanes - 1) / lanes * lanes;
  for (int64_t pixel = 0; pixel < pixels; ++pixel, source += fromStride, to += stride) {
    for (int64_t i = 0; i < channels; ++i)
      to[i] = Type::load(source[i]);
    for (int64_t i = channels; i < padded; ++i)
      to[i] = 0;
  }
}

template <typename Type, bool hasBias>
inline void finishPixel(const float *__restrict sums, int64_t channels,
                        const float *__restrict bias, bool relu,
                        typename Type::Storage *__restrict out) {
  for (int64_t i = 0; i < channels; ++i) {
    float value = Type::load(Type::store(sums[i]));
    if constexpr (hasBias)
      value = Type::load(Type::store(value + bias[i]));
    out[i] = Type::store(relu && value < 0 ? 0 : value);
  }
}

template <typename Type>
void finish(const float *sums, int64_t stride, int64_t pixels, int64_t channels, const float *bias,
            bool relu, void *out, int64_t outStride) {
  auto *target = static_cast<typename Type::Storage *>(out);
  for (int64_t pixel = 0; pixel < pixels; ++pixel, sums += stride, target += outStride)
    if (bias)
      finishPixel<Type, true>(sums, channels, bias, relu, target);
    else
      finishPixel<Type, false>(sums, channels, bias, relu, target);
}

void widenIntegers(const int8_t *from, int64_t fromStride, int64_t pixels, int64_t channels,
                   int8_t border, float *to, int64_t stride) {
  if (fromStride == channels && stride == channels) { // as above
    channels *= pixels;
    pixels = 1;
  }
  const int64_t padded = (channels + lanes - 1) / lanes * lanes;
  for (int64_t pixel = 0; pixel < pixels; ++pixel, from += fromStride, to += stride) {
    for (int64_t i = 0; i < channels; ++i)
      to[i] = static_cast<float>(from[i] - border);
    for (int64_t i = channels; i < padded; ++i)
      to[i] = 0;
  }
}

void finishIntegers(const float *__restrict sums, int64_t stride, int64_t pixels, int64_t channels,
                    const float *__restrict offset, int32_t *__restrict out, int64_t outStride) {
  for (int64_t pixel = 0; pixel < pixels; ++pixel, sums += stride, out += outStride)
    for (int64_t i = 0; i < channels; ++i)
      out[i] = static_cast<int32_t>(sums[i] + offset[i]);
}

// ---- Products -----------------------------------------------------------------------------------

// The channels of `pixels` pixels from the first one on, `atOnce` vectors at a time.
template <int64_t pixels, int64_t atOnce>
void multiplyPixels(const DepthwiseWindows &w, int64_t first, const DepthwiseRows &p,
                    int64_t vectors, int64_t channel = 0) {
  int64_t sources[pixels];
  float *results[pixels];
  for (int64_t i = 0; i < pixels; ++i) {
    sources[i] = w.sources[first + i] * p.rowStride;
    results[i] = p.result + w.pixels[first + i] * p.resultStride;
  }
  for (; vectors >= atOnce; vectors -= atOnce, channel += atOnce * lanes) {
    Vector sum[pixels][atOnce] = {};
    for (int64_t r = 0; r < p.rowCount; ++r)
      for (int64_t t = 0; t < w.tapCount; ++t) {
        const float *from = p.rows[r] + w.distances[t] * p.rowStride + channel;
        const float *weights = p.weights[r] + channel * p.weightsOfVector + w.taps[t] * lanes;
        for (int64_t v = 0; v < atOnce; ++v) {
          const Vector weight = load(weights + v * lanes * p.weightsOfVector);
          for (int64_t i = 0; i < pixels; ++i)
            sum[i][v] = multiplyAdd(load(from + sources[i] + v * lanes), weight, sum[i][v]);
        }
      }
    addBias(sum, p, channel);
    for (int64_t i = 0; i < pixels; ++i)
      for (int64_t v = 0; v < atOnce; ++v)
        store(sum[i][v], results[i] + channel + v * lanes);
  }
  if constexpr (atOnce > 1)
    if (vectors > 0)
      multiplyPixels<pixels, atOnce / 2>(w, first, p, vectors, channel);
}

// All channels of a few pixels: memory is read and written from front to back.
void multiply(const DepthwiseWindows &w, const DepthwiseRows &rows, int64_t vectors) {
  static constexpr void (*multiplyFor[mostPixels])(const DepthwiseWindows &, int64_t,
                                                   const DepthwiseRows &, int64_t, int64_t) = {
      multiplyPixels<1, 4>, multiplyPixels<2, 4>, multiplyPixels<3, 2>, multiplyPixels<4, 2>};
  for (int64_t first = 0; first < w.count; first += mostPixels)
    multiplyFor[least(mostPixels, w.count - first) - 1](w, first, rows, vectors, 0);
}

// Whether the images that `count` taps meet stay in registers from output to output.
constexpr bool slides(int64_t count, int64_t vectors) {
  constexpr int64_t registers = MPC_ISA_LEVEL >= 4 ? 24 : 14; // 30 of 32 are slower
  return MPC_ISA_LEVEL >= 3 && count % 2 && count > 1 && (2 * count + 1) * vectors <= registers;
}

// The outputs [first, ...) that all taps meet, `count` at a time, where each tap meets what the
// next one met of the output before; returns where it ended.
template <int64_t count, int64_t vectors>
int64_t slide(const DepthwiseCorrelation &c, const DepthwiseTap *taps, int64_t channel,
              int64_t first, int64_t end, const uint8_t *&next, Vector (&sum)[count][vectors]) {
  const bool isSliding = c.step == 1 && taps[count - 1].source - taps[0].source == count - 1;
  if (!isSliding || end - first < count)
    return first;
  const float *from = c.images + taps[0].source * c.imageStride + channel;
  Vector image[count][vectors]; // of output o and tap t at (o - first + t) % count
  for (int64_t t = 0; t + 1 < count; ++t)
    for (int64_t v = 0; v < vectors; ++v)
      image[t][v] = load(from + (first + t) * c.imageStride + v * lanes);
  int64_t o = first;
  for (; o + count <= end; o += count) {
    const float *newest = from + (o + count - 1) * c.imageStride;
    const float *outputs = c.outputs + channel + o * c.outputStride;
#pragma clang loop unroll(full)
    for (int64_t i = 0; i < count; ++i) {
      __builtin_prefetch(next, 0, 2);
      next += c.nextPixelBytes;
      for (int64_t v = 0; v < vectors; ++v) {
        image[(i + count - 1) % count][v] = load(newest + v * lanes);
        const Vector output = load(outputs + v * lanes);
        for (int64_t t = 0; t < count; ++t)
          sum[t][v] = multiplyAdd(image[(i + t) % count][v], output, sum[t][v]);
      }
      newest += c.imageStride;
      outputs += c.outputStride;
    }
  }
  return o;
}

template <int64_t count, int64_t vectors>
void correlateTaps(const DepthwiseCorrelation &c, const DepthwiseTap *taps, float *sums,
                   int64_t channel) {
  Vector sum[count][vectors];
  const float *from[count];
  int64_t first = taps[0].first, end = taps[0].end; // what all taps meet
  for (int64_t t = 0; t < count; ++t) {
    for (int64_t v = 0; v < vectors; ++v)
      sum[t][v] = load(sums + t * c.sumStride + channel + v * lanes);
    from[t] = c.images + taps[t].source * c.imageStride + channel;
    first = taps[t].first > first ? taps[t].first : first;
    end = least(end, taps[t].end);
  }
  end = end > first ? end : first;
  const int64_t step = c.step * c.imageStride;
  const float *outputs = c.outputs + channel;
  const uint8_t *next = c.next + channel / lanes * c.nextVectorBytes + first * c.nextPixelBytes;
  int64_t o = first;
  if constexpr (slides(count, vectors))
    o = slide<count, vectors>(c, taps, channel, first, end, next, sum);
  for (; o < end; ++o, next += c.nextPixelBytes) {
    __builtin_prefetch(next, 0, 2);
    for (int64_t v = 0; v < vectors; ++v) {
      const Vector output = load(outputs + o * c.outputStride + v * lanes);
      for (int64_t t = 0; t < count; ++t)
        sum[t][v] = multiplyAdd(load(from[t] + o * step + v * lanes), output, sum[t][v]);
    }
  }
  for (int64_t t = 0; t < count; ++t) {
    auto add = [&](int64_t begin, int64_t stop) {
#pragma clang loop unroll(disable) // short, and there are many of them
      for (int64_t o = begin; o < stop; ++o)
        for (int64_t v = 0; v < vectors; ++v)
          sum[t][v] = multiplyAdd(load(from[t] + o * step + v * lanes),
                                  load(outputs + o * c.outputStride + v * lanes), sum[t][v]);
    };
    add(taps[t].first, least(first, taps[t].end));
    add(end > taps[t].first ? end : taps[t].first, taps[t].end);
    for (int64_t v = 0; v < vectors; ++v)
      store(sum[t][v], sums + t * c.sumStride + channel + v * lanes);
  }
}

template <int64_t count>
void correlateFewer(const DepthwiseCorrelation &c, const DepthwiseTap *taps, int64_t tapCount,
                    float *sums, int64_t vectors) {
  if constexpr (count > 0) {
    if (tapCount < count)
      return correlateFewer<count - 1>(c, taps, tapCount, sums, vectors);
    int64_t v = 0;
    for (; v + 2 <= vectors; v += 2)
      correlateTaps<count, 2>(c, taps, sums, v * lanes);
    if (v < vectors)
      correlateTaps<count, 1>(c, taps, sums, v * lanes);
  }
}

void correlate(const DepthwiseCorrelation &c, int64_t vectors) {
  for (int64_t t = 0; t < c.tapCount; t += mostTaps)
    correlateFewer<mostTaps>(c, c.taps + t, least(mostTaps, c.tapCount - t),
                             c.sums + t * c.sumStride, vectors);
}

} // namespace

extern const DepthwiseKernels MPC_CONCAT(depthwiseKernelsV, MPC_ISA_LEVEL);
constexpr DepthwiseKernels MPC_CONCAT(depthwiseKernelsV, MPC_ISA_LEVEL) = {
    lanes,
    {widen<Float32>, widen<BFloat16>, widen<Float16>},
    {finish<Float32>, finish<BFloat16>, finish<Float16>},
    widenIntegers,
    finishIntegers,
#if MPC_ISA_LEVEL >= 3
    requantizeFloats,
#else
    nullptr,
#endif
    multiply,
    multiplyStrips,
    hasStrips,
    correlate};

#if MPC_ISA_LEVEL == 2
extern const DepthwiseKernels depthwiseKernelsV3, depthwiseKernelsV4;

const DepthwiseKernels &depthwiseKernels(int isa) noexcept {
  return isa == 2 ? depthwiseKernelsV4 : isa == 1 ? depthwiseKernelsV3 : depthwiseKernelsV2;
}
#endif

} // namespace mpc::rt
