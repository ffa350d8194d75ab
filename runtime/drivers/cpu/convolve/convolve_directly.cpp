// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions by plain loops. Each thread owns rows of the result along its last dimension, whose
// sums stay in cache; sums are in float64.
#include "runtime/base/element.h"
#include "runtime/drivers/cpu/convolve/convolver.h"

#include <algorithm>
#include <vector>

namespace mpc::rt {
namespace {

using Extents = Convolution::Extents;

Extents split(int64_t index, const Extents &extents) {
  int64_t rest = index / extents[2];
  return {rest / extents[1], rest % extents[1], index % extents[2]};
}

int64_t join(const Extents &pixel, const Extents &extents) {
  return (pixel[0] * extents[1] + pixel[1]) * extents[2] + pixel[2];
}

class Loops {
public:
  Loops(const Convolution &c, const void *lhs, const void *rhs)
      : c(c), lhs(lhs), rhs(rhs), perGroup(c.filters / c.groups), channels(c.channels / c.groups),
        taps(Convolution::product(c.kernel)) {}

  // One row of the outputs: all filters at a pixel of a sample.
  void forward(int64_t row, double *sums) const {
    int64_t pixels = Convolution::product(c.outputs);
    Extents pixel = split(row % pixels, c.outputs), from;
    for (int64_t tap = 0; tap < taps; ++tap) {
      Extents k = split(tap, c.kernel);
      bool inside = true;
      for (size_t d = 0; d < 3; ++d) {
        from[d] = pixel[d] * c.strides[d] - c.low[d] + k[d] * c.dilations[d];
        inside &= from[d] >= 0 && from[d] < c.images[d];
      }
      if (!inside)
        continue;
      int64_t image =
          (row / pixels * Convolution::product(c.images) + join(from, c.images)) * c.channels;
      for (int64_t g = 0; g < c.groups; ++g)
        for (int64_t i = 0; i < channels; ++i) {
          double x = loadElement(c.lhs, lhs, image + g * channels + i);
          addScaled(x, c.rhs, rhs, (tap * channels + i) * c.filters + g * perGroup,
                    sums + g * perGroup);
        }
    }
  }

  // One row of the images' cotangent: all channels at a pixel of a sample.
  void inputGradient(int64_t row, double *sums) const {
    int64_t pixels = Convolution::product(c.images);
    Extents pixel = split(row % pixels, c.images), to;
    for (int64_t tap = 0; tap < taps; ++tap) {
      Extents k = split(tap, c.kernel);
      bool inside = true;
      for (size_t d = 0; d < 3; ++d) {
        int64_t moved = pixel[d] + c.low[d] - k[d] * c.dilations[d];
        to[d] = moved / c.strides[d];
        inside &= moved >= 0 && moved % c.strides[d] == 0 && to[d] < c.outputs[d];
      }
      if (!inside)
        continue;
      int64_t output =
          (row / pixels * Convolution::product(c.outputs) + join(to, c.outputs)) * c.filters;
      for (int64_t g = 0; g < c.groups; ++g)
        for (int64_t i = 0; i < channels; ++i) {
          int64_t weight = (tap * channels + i) * c.filters + g * perGroup;
          double sum = 0;
          for (int64_t f = 0; f < perGroup; ++f)
            sum += loadElement(c.lhs, lhs, output + g * perGroup + f) *
                   loadElement(c.rhs, rhs, weight + f);
          sums[g * channels + i] += sum;
        }
    }
  }

  // One row of the filter's gradient: all filters of a kernel element and channel.
  void filterGradient(int64_t row, double *sums) const {
    Extents k = split(row / channels, c.kernel), from;
    int64_t channel = row % channels, pixels = Convolution::product(c.outputs);
    for (int64_t sample = 0; sample < c.batch; ++sample)
      for (int64_t o = 0; o < pixels; ++o) {
        Extents pixel = split(o, c.outputs);
        bool inside = true;
        for (size_t d = 0; d < 3; ++d) {
          from[d] = pixel[d] * c.strides[d] - c.low[d] + k[d] * c.dilations[d];
          inside &= from[d] >= 0 && from[d] < c.images[d];
        }
        if (!inside)
          continue;
        int64_t image =
            (sample * Convolution::product(c.images) + join(from, c.images)) * c.channels;
        int64_t output = (sample * pixels + o) * c.filters;
        for (int64_t g = 0; g < c.groups; ++g) {
          double x = loadElement(c.lhs, lhs, image + g * channels + channel);
          addScaled(x, c.rhs, rhs, output + g * perGroup, sums + g * perGroup);
        }
      }
  }

private:
  // sums += factor * the elements from `begin` on, as many as a group has filters.
  void addScaled(double factor, mpc_rt_dtype_t dtype, const void *elements, int64_t begin,
                 double *sums) const {
    if (dtype == MPC_RT_FLOAT64) {
      const double *row = static_cast<const double *>(elements) + begin;
      for (int64_t f = 0; f < perGroup; ++f)
        sums[f] += factor * row[f];
    } else {
      for (int64_t f = 0; f < perGroup; ++f)
        sums[f] += factor * loadElement(dtype, elements, begin + f);
    }
  }

  const Convolution &c;
  const void *lhs, *rhs;
  int64_t perGroup, channels, taps;
};

} // namespace

void convolveDirectly(ThreadTeam &team, const Convolution &c, const void *lhs, const void *rhs,
                      const void *bias, void *out) {
  Loops loops(c, lhs, rhs);
  int64_t columns = c.outColumns(), rows = c.outElements() / columns;
  bool overBatch = c.direction == MPC_RT_CONVOLUTION_FILTER_GRADIENT;
  int64_t work = columns * (overBatch ? c.batch * Convolution::product(c.outputs)
                                      : Convolution::product(c.kernel) * c.channels / c.groups);
  team.forRange(rows, std::max<int64_t>(1, 32768 / work), [&](int64_t begin, int64_t end) {
    std::vector<double> sums(static_cast<size_t>(columns));
    for (int64_t row = begin; row < end; ++row) {
      std::fill(sums.begin(), sums.end(), 0.0);
      if (c.direction == MPC_RT_CONVOLUTION_FORWARD)
        loops.forward(row, sums.data());
      else if (overBatch)
        loops.filterGradient(row, sums.data());
      else
        loops.inputGradient(row, sums.data());
      for (int64_t i = 0; i < columns; ++i) {
        double value = roundElement(c.out, sums[static_cast<size_t>(i)]);
        if (c.hasBias)
          value = roundElement(c.out, value + loadElement(c.bias, bias, i));
        if (c.relu)
          value = value < 0.0 ? 0.0 : value;
        storeElement(c.out, out, row * columns + i, value);
      }
    }
  });
}

} // namespace mpc::rt
