// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/Ops/ResizeTables.h"

#include <algorithm>
#include <cmath>

namespace mpc::onnx {

namespace {

using Mode = Resizing::Mode;
using Rounding = Resizing::Rounding;
using Coordinates = Resizing::Coordinates;

/// The coordinate in the input of a place of the result.
double coordinateOf(const Resizing &resizing, const ResizedAxis &axis, double place) {
  const double extent = double(axis.extent), width = axis.scale * extent;
  // ONNX's text says this of the extent of the result; its evaluator, of the product with the
  // scale.
  const bool isOnePlace = axis.places == 1;
  switch (resizing.coordinates) {
  case Coordinates::AlignCorners:
    return width == 1.0 ? 0.0 : place * (extent - 1) / (width - 1);
  case Coordinates::Asymmetric:
    return place / axis.scale;
  case Coordinates::PytorchHalfPixel:
    return isOnePlace ? 0.0 : (place + 0.5) / axis.scale - 0.5;
  case Coordinates::HalfPixel:
    return (place + 0.5) / axis.scale - 0.5;
  case Coordinates::HalfPixelSymmetric:
    return extent / 2 * (1 - double(axis.places) / width) + (place + 0.5) / axis.scale - 0.5;
  case Coordinates::CropAndResize: {
    const double size = (axis.end - axis.begin) * (extent - 1);
    return (isOnePlace ? size / 2 : place * size / (width - 1)) + axis.begin * (extent - 1);
  }
  }
  return 0.0;
}

/// Keys's kernel.
double cubicKernel(double a, double x) {
  x = std::abs(x);
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0.0;
}

/// Whether the neighbour on the right is the nearest one.
bool takesRight(Rounding rounding, double ratio) {
  switch (rounding) {
  case Rounding::PreferFloor:
    return ratio > 0.5;
  case Rounding::PreferCeil:
    return ratio >= 0.5;
  case Rounding::Floor:
    return ratio == 1.0;
  case Rounding::Ceil:
    return true;
  }
  return false;
}

/// The first neighbour, counted from the one on the left, and how many there are: an even number.
std::pair<int64_t, int64_t> neighbours(const Resizing &resizing, double scale) {
  const double stretch = resizing.antialias ? std::min(scale, 1.0) : 1.0;
  const double radius = resizing.mode == Mode::Cubic ? 2.0 : 1.0;
  const int64_t first = int64_t(std::floor(-radius / stretch)) + 1;
  return {first, 2 - 2 * first};
}

double weightOf(const Resizing &resizing, double scale, int64_t neighbour, double ratio) {
  const double stretch = resizing.antialias ? std::min(scale, 1.0) : 1.0;
  const double distance = (double(neighbour) - ratio) * stretch;
  switch (resizing.mode) {
  case Mode::Nearest:
    return (neighbour == 1) == takesRight(resizing.rounding, ratio) ? 1.0 : 0.0;
  case Mode::Linear:
    return std::clamp(1.0 - std::abs(distance), 0.0, 1.0);
  case Mode::Cubic:
    return cubicKernel(resizing.cubic, distance);
  }
  return 0.0;
}

} // namespace

bool isOutside(const Resizing &resizing, const ResizedAxis &axis, int64_t place) {
  const double at = coordinateOf(resizing, axis, double(place));
  return resizing.coordinates == Coordinates::CropAndResize &&
         (at < 0 || at > double(axis.extent - 1));
}

ResampleTable tabulate(const Resizing &resizing, const ResizedAxis &axis) {
  ResampleTable table;
  table.axis = axis.axis;
  const auto [first, count] = neighbours(resizing, axis.scale);
  const bool isNearest = resizing.mode == Mode::Nearest;
  table.taps = isNearest ? 1 : count;
  for (int64_t place = 0; place < axis.places; ++place) {
    const double at = coordinateOf(resizing, axis, double(place));
    // The neighbour on the left lies before the coordinate, so that the ratio is in (0, 1].
    const auto left = int64_t(std::ceil(at)) - 1;
    const double ratio = at - double(left);
    const bool hasNone = isOutside(resizing, axis, place);
    llvm::SmallVector<int64_t> indices;
    llvm::SmallVector<double> weights;
    double sum = 0.0;
    for (int64_t i = first; i < first + count; ++i) {
      const int64_t index = left + i;
      const bool isHidden = hasNone || (resizing.excludesOutside && !isNearest &&
                                        (index < 0 || index >= axis.extent));
      const double weight = isHidden ? 0.0 : weightOf(resizing, axis.scale, i, ratio);
      if (isNearest && weight == 0.0)
        continue;
      indices.push_back(isHidden ? -1 : std::clamp<int64_t>(index, 0, axis.extent - 1));
      weights.push_back(weight);
      sum += weight;
    }
    if (isNearest) {
      table.indices.push_back(indices.empty() ? -1 : indices.front());
      continue;
    }
    if ((resizing.excludesOutside || resizing.antialias) && sum != 0.0)
      for (double &weight : weights)
        weight /= sum;
    table.indices.append(indices);
    table.weights.append(weights);
  }
  return table;
}

} // namespace mpc::onnx
