// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled once per ISA level, as vector_kernels.cpp is.
#include "runtime/drivers/cpu/depthwise_kernels.h"
#include "runtime/base/vector_types.h"

#define MPC_CONCAT_(a, b) a##b
#define MPC_CONCAT(a, b) MPC_CONCAT_(a, b)

namespace mpc::rt {
namespace {

constexpr int64_t lanes = MPC_ISA_LEVEL >= 4 ? 16 : MPC_ISA_LEVEL == 3 ? 8 : 4;
// Eight sums in registers hide the latency of additions: of four places in two vectors, or of
// fewer places in up to four.
constexpr int64_t mostPlaces = 4, mostVectors = 4;
// Taps whose sums in two vectors fit into registers beside the operands.
constexpr int64_t mostTaps = MPC_ISA_LEVEL >= 4 ? 7 : 5;

using Vector = float __attribute__((vector_size(lanes * sizeof(float))));

inline Vector load(const float *from) {
  Vector value;
  __builtin_memcpy(&value, from, sizeof(value));
  return value;
}

inline void store(Vector value, float *to) { __builtin_memcpy(to, &value, sizeof(value)); }

inline Vector multiplyAdd(Vector a, Vector b, Vector sum) {
#if MPC_ISA_LEVEL >= 3
  return __builtin_elementwise_fma(a, b, sum);
#else
  return sum + a * b;
#endif
}

// ---- Conversions --------------------------------------------------------------------------------

template <typename Type>
void widen(const void *from, int64_t fromStride, int64_t places, int64_t channels, float *to,
           int64_t stride) {
  auto *source = static_cast<const typename Type::Storage *>(from);
  const int64_t padded = (channels + lanes - 1) / lanes * lanes;
  for (int64_t place = 0; place < places; ++place, source += fromStride, to += stride) {
    for (int64_t i = 0; i < channels; ++i)
      to[i] = Type::load(source[i]);
    for (int64_t i = channels; i < padded; ++i)
      to[i] = 0;
  }
}

template <typename Type, bool hasBias>
inline void finishPlace(const float *__restrict sums, int64_t channels,
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
void finish(const float *sums, int64_t stride, int64_t places, int64_t channels, const float *bias,
            bool relu, void *out, int64_t outStride) {
  auto *target = static_cast<typename Type::Storage *>(out);
  for (int64_t place = 0; place < places; ++place, sums += stride, target += outStride)
    if (bias)
      finishPlace<Type, true>(sums, channels, bias, relu, target);
    else
      finishPlace<Type, false>(sums, channels, bias, relu, target);
}

// ---- Products -----------------------------------------------------------------------------------

template <int64_t places, int64_t vectors>
void multiplyPlaces(const DepthwiseProduct &p, int64_t first, int64_t channel) {
  Vector sum[places][vectors] = {};
  for (int64_t r = 0; r < p.rowCount; ++r) {
    const float *from[places];
    for (int64_t i = 0; i < places; ++i)
      from[i] = p.rows[r] + p.sources[first + i] * p.rowStride + channel;
    for (int64_t t = 0; t < p.tapCount; ++t)
      for (int64_t v = 0; v < vectors; ++v) {
        const int64_t lane = v * lanes;
        const Vector weight = load(p.weights[r] + p.taps[t] * p.weightStride + channel + lane);
        for (int64_t i = 0; i < places; ++i)
          sum[i][v] =
              multiplyAdd(load(from[i] + p.distances[t] * p.rowStride + lane), weight, sum[i][v]);
      }
  }
  for (int64_t i = 0; i < places; ++i)
    for (int64_t v = 0; v < vectors; ++v)
      store(sum[i][v], p.result + p.places[first + i] * p.resultStride + channel + v * lanes);
}

using MultiplyPlaces = void (*)(const DepthwiseProduct &, int64_t, int64_t);
constexpr MultiplyPlaces multiplyFor[mostPlaces][mostVectors] = {
    {multiplyPlaces<1, 1>, multiplyPlaces<1, 2>, multiplyPlaces<1, 3>, multiplyPlaces<1, 4>},
    {multiplyPlaces<2, 1>, multiplyPlaces<2, 2>, multiplyPlaces<2, 3>, multiplyPlaces<2, 4>},
    {multiplyPlaces<3, 1>, multiplyPlaces<3, 2>},
    {multiplyPlaces<4, 1>, multiplyPlaces<4, 2>}};

// The same for four places whose windows lie `stride` apart and whose taps are neighbours, in the
// order of the row (direction 1) or against it (-1): what windows share is loaded once. Each sum
// has its terms in the same order.
template <int64_t taps, int64_t stride, int64_t direction, int64_t vectors>
void multiplyNeighbours(const DepthwiseProduct &p, int64_t first, int64_t channel) {
  constexpr int64_t span = (mostPlaces - 1) * stride + taps;
  Vector sum[mostPlaces][vectors] = {};
  const int64_t start = p.sources[first] + p.distances[direction > 0 ? 0 : taps - 1];
  for (int64_t r = 0; r < p.rowCount; ++r)
    for (int64_t v = 0; v < vectors; ++v) {
      const float *from = p.rows[r] + start * p.rowStride + channel + v * lanes;
      Vector weight[taps];
      for (int64_t t = 0; t < taps; ++t)
        weight[t] = load(p.weights[r] + p.taps[t] * p.weightStride + channel + v * lanes);
#pragma GCC unroll 32
      for (int64_t step = 0; step < span; ++step) {
        const int64_t place = direction > 0 ? step : span - 1 - step;
        const Vector value = load(from + place * p.rowStride);
#pragma GCC unroll 8
        for (int64_t t = 0; t < taps; ++t) {
          const int64_t offset = place - (direction > 0 ? t : taps - 1 - t);
          if (offset >= 0 && offset % stride == 0 && offset / stride < mostPlaces)
            sum[offset / stride][v] = multiplyAdd(value, weight[t], sum[offset / stride][v]);
        }
      }
    }
  for (int64_t i = 0; i < mostPlaces; ++i)
    for (int64_t v = 0; v < vectors; ++v)
      store(sum[i][v], p.result + p.places[first + i] * p.resultStride + channel + v * lanes);
}

template <int64_t taps>
constexpr MultiplyPlaces multiplyNeighboursOf[3][2] = {
    {multiplyNeighbours<taps, 1, 1, 1>, multiplyNeighbours<taps, 1, 1, 2>},
    {multiplyNeighbours<taps, 1, -1, 1>, multiplyNeighbours<taps, 1, -1, 2>},
    {multiplyNeighbours<taps, 2, 1, 1>, multiplyNeighbours<taps, 2, 1, 2>}};

// Whether numbers rise by `by`, which may be negative.
inline bool risesBy(int64_t by, const int64_t *numbers, int64_t count) {
  for (int64_t i = 1; i < count; ++i)
    if (numbers[i] - numbers[i - 1] != by)
      return false;
  return true;
}

// For one vector and for two; null: places are to be computed on their own.
const MultiplyPlaces *findNeighbours(const DepthwiseProduct &p) {
  if (p.count < mostPlaces || p.tapCount < 2)
    return nullptr;
  const int64_t stride = p.sources[1] - p.sources[0];
  const int64_t direction = p.distances[1] - p.distances[0];
  const int64_t form = stride == 1 && direction == 1    ? 0
                       : stride == 1 && direction == -1 ? 1
                       : stride == 2 && direction == 1  ? 2
                                                        : -1;
  if (form < 0 || !risesBy(stride, p.sources, p.count) ||
      !risesBy(direction, p.distances, p.tapCount))
    return nullptr;
  switch (p.tapCount) {
  case 2:
    return multiplyNeighboursOf<2>[form];
  case 3:
    return multiplyNeighboursOf<3>[form];
  case 5:
    return multiplyNeighboursOf<5>[form];
  case 7:
    return multiplyNeighboursOf<7>[form];
  default:
    return nullptr;
  }
}

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// All channels of a few places: memory is read and written from front to back.
void multiply(const DepthwiseProduct &p, int64_t vectors) {
  const MultiplyPlaces *neighbours = findNeighbours(p);
  for (int64_t first = 0; first < p.count; first += mostPlaces) {
    const int64_t places = least(mostPlaces, p.count - first);
    const int64_t atOnce = places > 2 ? 2 : mostVectors;
    const MultiplyPlaces *table =
        neighbours && places == mostPlaces ? neighbours : multiplyFor[places - 1];
    for (int64_t v = 0; v < vectors; v += atOnce)
      table[least(atOnce, vectors - v) - 1](p, first, v * lanes);
  }
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
  for (int64_t o = first; o < end; ++o)
    for (int64_t v = 0; v < vectors; ++v) {
      const Vector output = load(outputs + o * c.outputStride + v * lanes);
      for (int64_t t = 0; t < count; ++t)
        sum[t][v] = multiplyAdd(load(from[t] + o * step + v * lanes), output, sum[t][v]);
    }
  for (int64_t t = 0; t < count; ++t) {
    auto add = [&](int64_t begin, int64_t stop) {
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
    multiply,
    correlate};

#if MPC_ISA_LEVEL == 2
extern const DepthwiseKernels depthwiseKernelsV3, depthwiseKernelsV4;

const DepthwiseKernels &depthwiseKernels(int isa) noexcept {
  return isa == 2 ? depthwiseKernelsV4 : isa == 1 ? depthwiseKernelsV3 : depthwiseKernelsV2;
}
#endif

} // namespace mpc::rt
