// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tensorflow/core/kernels/image: resize_nearest_neighbor_op, resize_bilinear_op, resize_bicubic_op,
// resize_area_op and scale_and_translate_op, with half-pixel centres, as tf.image.resize calls
// them.
#include "lib/Import/Common/Interpolation.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mpc {
namespace {

using Weights = llvm::SmallVector<std::pair<int64_t, float>>; // of one place

/// Tables want one number of taps for all places.
ResampleTable tableOf(int64_t axis, llvm::ArrayRef<Weights> places) {
  ResampleTable table;
  table.axis = axis;
  for (const Weights &place : places)
    table.taps = std::max<int64_t>(table.taps, place.size());
  for (const Weights &place : places)
    for (int64_t tap = 0; tap < table.taps; ++tap) {
      bool used = tap < int64_t(place.size());
      table.indices.push_back(used ? place[tap].first : -1);
      table.weights.push_back(used ? double(place[tap].second) : 0.0);
    }
  return table;
}

float halfPixel(int64_t place, float scale) { return (float(place) + 0.5f) * scale - 0.5f; }

Weights bilinear(int64_t place, float scale, int64_t extent) {
  const float in = halfPixel(place, scale), floor = std::floor(in), fraction = in - floor;
  const int64_t lower = std::max<int64_t>(int64_t(floor), 0);
  const int64_t upper = std::min<int64_t>(int64_t(std::ceil(in)), extent - 1);
  return {{lower, 1.0f - fraction}, {upper, fraction}};
}

/// Scales weights to a sum of 1, unless it vanishes.
void normalize(Weights &weights) {
  float sum = 0;
  for (const auto &weight : weights)
    sum += weight.second;
  if (std::abs(sum) >= 1000.0f * std::numeric_limits<float>::min())
    for (auto &weight : weights)
      weight.second *= 1.0f / sum;
}

/// Keys's kernel, read from a table of 1024 steps; elements outside have no weight.
Weights bicubic(int64_t place, float scale, int64_t extent) {
  constexpr double a = -0.5;
  constexpr int64_t steps = 1024;
  auto near = [](int64_t step) {
    const float x = float(double(step) / steps);
    return float(((a + 2) * x - (a + 3)) * x * x + 1);
  };
  auto far = [](int64_t step) {
    const float x = float(double(step) / steps) + 1.0f;
    return float(((a * x - 5 * a) * x + 8 * a) * x - 4 * a);
  };
  const float in = halfPixel(place, scale);
  const auto start = int64_t(std::floor(in));
  const int64_t step = std::lrint((in - float(start)) * steps);
  const float coefficients[] = {far(step), near(step), near(steps - step), far(steps - step)};
  Weights weights;
  for (int64_t tap = 0; tap < 4; ++tap) {
    const int64_t index = start - 1 + tap;
    if (index >= 0 && index < extent)
      weights.push_back({index, coefficients[tap]});
  }
  normalize(weights);
  return weights;
}

/// The share of each element in the stretch of input that a place covers.
Weights area(int64_t place, float scale, int64_t extent) {
  const float begin = float(place) * scale, end = float(place + 1) * scale;
  Weights weights;
  for (auto i = int64_t(std::floor(begin)); i < int64_t(std::ceil(end)); ++i) {
    float share;
    if (float(i) < begin)
      share = float(i + 1) > end ? scale : float(i + 1) - begin;
    else
      share = float(i + 1) > end ? end - float(i) : 1.0f;
    weights.push_back({std::min(std::max<int64_t>(i, 0), extent - 1), share / scale});
  }
  return weights;
}

/// A kernel of scale_and_translate_op.
struct Kernel {
  float radius;
  float (*value)(float x, float radius);
};

float triangle(float x, float) { return x < 1.0f ? 1.0f - x : 0.0f; }
float keysCubic(float x, float) {
  if (x >= 2.0f)
    return 0.0f;
  if (x >= 1.0f)
    return ((-0.5f * x + 2.5f) * x - 4.0f) * x + 2.0f;
  return ((1.5f * x - 2.5f) * x) * x + 1.0f;
}
float lanczos(float x, float radius) {
  constexpr float pi = 3.14159265359f;
  if (x > radius)
    return 0.0f;
  if (x <= 1e-3f)
    return 1.0f;
  return radius * std::sin(pi * x) * std::sin(pi * x / radius) / (pi * pi * x * x);
}

float mitchellCubic(float x, float) {
  if (x >= 2.0f)
    return 0.0f;
  if (x >= 1.0f)
    return (((-7.0f / 18.0f) * x + 2.0f) * x - 10.0f / 3.0f) * x + 16.0f / 9.0f;
  return (((7.0f / 6.0f) * x - 2.0f) * x) * x + 8.0f / 9.0f;
}
/// The radius is three standard deviations.
float gaussian(float x, float radius) {
  const float sigma = radius / 3.0f;
  return x >= radius ? 0.0f : std::exp(-x * x / (2.0f * sigma * sigma));
}

Weights span(const Kernel &kernel, bool antialias, int64_t place, int64_t extent, int64_t places) {
  const float inverse = 1.0f / (float(places) / float(extent));
  const float stretch = antialias ? std::max(inverse, 1.0f) : 1.0f;
  const float sample = (float(place) + 0.5f) * inverse;
  Weights weights;
  if (sample < 0 || sample > float(extent))
    return weights;
  const float reach = kernel.radius * stretch;
  auto begin = int64_t(std::ceil(sample - reach - 0.5f));
  auto end = int64_t(std::floor(sample + reach - 0.5f));
  begin = std::clamp<int64_t>(begin, 0, extent - 1);
  end = std::clamp<int64_t>(end, 0, extent - 1) + 1;
  for (int64_t i = begin; i < end; ++i) {
    const float distance = std::abs(float(i) + 0.5f - sample);
    weights.push_back({i, kernel.value(distance * (1.0f / stretch), kernel.radius)});
  }
  normalize(weights);
  return weights;
}

} // namespace

ResampleTable repeatElements(int64_t axis, int64_t extent, int64_t times) {
  ResampleTable table;
  table.axis = axis;
  for (int64_t element = 0; element < extent; ++element)
    table.indices.append(times, element);
  return table;
}

ResampleTable interpolateAsVersion1(bool isNearest, bool alignsCorners, int64_t axis,
                                    int64_t extent, int64_t places) {
  const float scale = alignsCorners && places > 1 ? float(extent - 1) / float(places - 1)
                                                  : float(extent) / float(places);
  ResampleTable table;
  table.axis = axis;
  table.taps = isNearest ? 1 : 2;
  for (int64_t place = 0; place < places; ++place) {
    const float at = float(place) * scale;
    if (isNearest) {
      const auto index = int64_t(alignsCorners ? std::round(at) : std::floor(at));
      table.indices.push_back(std::min(index, extent - 1));
      continue;
    }
    const float lower = std::floor(at), weight = at - lower;
    table.indices.push_back(std::clamp<int64_t>(int64_t(lower), 0, extent - 1));
    table.indices.push_back(std::clamp<int64_t>(int64_t(lower) + 1, 0, extent - 1));
    table.weights.push_back(double(1.0f - weight));
    table.weights.push_back(double(weight));
  }
  return table;
}

std::optional<ResampleTable> interpolate(llvm::StringRef interpolation, bool antialias,
                                         int64_t axis, int64_t extent, int64_t places) {
  const float scale = float(extent) / float(places);
  if (interpolation == "nearest") {
    ResampleTable table;
    table.axis = axis;
    for (int64_t place = 0; place < places; ++place) {
      const auto index = int64_t(std::floor((float(place) + 0.5f) * scale));
      table.indices.push_back(std::clamp<int64_t>(index, 0, extent - 1));
    }
    return table;
  }
  std::optional<Kernel> kernel;
  if (interpolation == "bilinear" && antialias)
    kernel = Kernel{1.0f, triangle};
  else if (interpolation == "bicubic" && antialias)
    kernel = Kernel{2.0f, keysCubic};
  else if (interpolation == "lanczos3")
    kernel = Kernel{3.0f, lanczos};
  else if (interpolation == "lanczos5")
    kernel = Kernel{5.0f, lanczos};
  else if (interpolation == "gaussian")
    kernel = Kernel{1.5f, gaussian};
  else if (interpolation == "mitchellcubic")
    kernel = Kernel{2.0f, mitchellCubic};
  else if (interpolation != "bilinear" && interpolation != "bicubic" && interpolation != "area")
    return std::nullopt;
  llvm::SmallVector<Weights> weights;
  for (int64_t place = 0; place < places; ++place) {
    if (kernel)
      weights.push_back(span(*kernel, antialias, place, extent, places));
    else if (interpolation == "bilinear")
      weights.push_back(bilinear(place, scale, extent));
    else if (interpolation == "bicubic")
      weights.push_back(bicubic(place, scale, extent));
    else
      weights.push_back(area(place, scale, extent));
  }
  return tableOf(axis, weights);
}

} // namespace mpc
