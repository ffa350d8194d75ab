// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/convolve/im2col_filter_gradient.h"
#include "runtime/base/element.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace mpc::rt {
namespace {

// Pixels of the images that are packed before they are multiplied.
constexpr int64_t packedPixels = 256;
// Parts of all pixels that have sums of their own, for as many threads.
constexpr int64_t mostGroups = 16, mostGroupSums = 1 << 20;

Convolution::Extents paddedExtents(const std::array<Col2imAxis, 3> &axes) {
  auto of = [](const Col2imAxis &axis) { return axis.wide + axis.most - axis.least; };
  return {of(axes[0]), of(axes[1]), of(axes[2])};
}

int64_t segmentsOf(const Convolution &c, int64_t segmentPixels) {
  return c.batch * c.images[0] * c.images[1] * ceilDivide(c.images[2], segmentPixels);
}

} // namespace

bool Im2colFilterGradient::multiplies(const MicroKernel &kernel, const Convolution &c) {
  // A pair that is not whole at the end of a row would multiply a number of the next row by zero.
  const bool hasStrangers = c.images[2] % kernel.depth != 0;
  auto takes = [&](mpc_rt_dtype_t dtype) {
    return dtype <= MPC_RT_FLOAT16 && kernel.packRhs[dtype][0];
  };
  return c.groups == 1 && c.direction == MPC_RT_CONVOLUTION_FILTER_GRADIENT && kernel.depth <= 2 &&
         Convolution::product(c.strides) == 1 && !hasStrangers && takes(c.lhs) && takes(c.rhs) &&
         c.out <= MPC_RT_FLOAT16;
}

Im2colFilterGradient::Im2colFilterGradient(ThreadTeam &team, const VectorKernels &vectors,
                                           const MicroKernel &micro, const Convolution &shape)
    : team(team), vectors(vectors), shape(shape), micro(micro), kernel(*micro.pieces[1]),
      taps(Convolution::product(shape.kernel)), rows(taps * shape.filters),
      panels(ceilDivide(shape.channels, kernel.columns)),
      elementBytes(kernel.laneBytes / micro.depth),
      axes{col2imAxis(shape, 0), col2imAxis(shape, 1), col2imAxis(shape, 2)},
      extents(paddedExtents(axes)), segmentPixels(std::min(shape.images[2], packedPixels)),
      segments(segmentsOf(shape, segmentPixels)),
      groups(std::clamp<int64_t>(mostGroupSums / (rows * panels * kernel.columns), 1,
                                 std::min(mostGroups, segments))),
      workspaces(team.threads()) {
  for (int64_t o0 : axes[0].offsets)
    for (int64_t o1 : axes[1].offsets)
      for (int64_t o2 : axes[2].offsets)
        for (int64_t filter = 0; filter < shape.filters; ++filter)
          lanes.push_back(
              ((filter * extents[0] + o0 - axes[0].least) * extents[1] + o1 - axes[1].least) *
                  extents[2] +
              o2 - axes[2].least);
  const int64_t paddedElements = shape.batch * shape.filters * Convolution::product(extents);
  const auto paddedBytes = static_cast<uint64_t>(paddedElements * elementBytes);
  if (!paddedOutputs.allocate(paddedBytes))
    throw OutOfMemory(paddedBytes); // zeros, of which those of the padding stay
  reserveFloats(sums, groups * panels * rows * kernel.columns);
  for (Workspace &own : workspaces) { // here: a thread of a team cannot fail
    // Whole segments, of whole steps.
    reserveFloats(own.panel, std::max(packedPixels * kernel.columns,
                                      std::max(shape.outputs[2], shape.channels) * shape.filters));
    own.pieces.reserve(packedPixels);
    own.parts.reserve(packedPixels);
  }
}

uint64_t Im2colFilterGradient::bytes() const {
  uint64_t total = paddedOutputs.size() + sums.size();
  for (const Workspace &own : workspaces)
    total += own.panel.size();
  return total;
}

void Im2colFilterGradient::run(const void *images, const void *outputs, void *out) {
  padOutputs(outputs);
  team.shareOut(groups * panels, team.threads(), [&](Turns &turns) {
    alignas(64) uint8_t state[microKernelStateBytes];
    micro.enter(state);
    for (int64_t unit; turns.take(unit);) {
      const int64_t group = unit / panels;
      multiply(images, unit % panels, segments * group / groups, segments * (group + 1) / groups,
               sums.floats() + unit * rows * kernel.columns, workspaces[turns.slot()]);
    }
    micro.leave(state);
  });
  finish(out);
}

// ---- Outputs ------------------------------------------------------------------------------------

void Im2colFilterGradient::padOutputs(const void *outputs) {
  team.shareOut(shape.batch * shape.outputs[0] * shape.outputs[1], team.threads(),
                [&](Turns &turns) {
                  for (int64_t row; turns.take(row);)
                    padRow(outputs, row, workspaces[turns.slot()]);
                });
}

template <typename Element>
static void transposePixels(const Element *from, int64_t first, int64_t last, int64_t filters,
                            int64_t filterStride, Element *to) {
  for (int64_t filter = 0; filter < filters; ++filter)
    for (int64_t pixel = first; pixel < last; ++pixel)
      to[filter * filterStride + pixel - first] = from[pixel * filters + filter];
}

void Im2colFilterGradient::padRow(const void *outputs, int64_t row, Workspace &own) {
  const int64_t at1 = row % shape.outputs[1] - axes[1].least;
  const int64_t at0 = row / shape.outputs[1] % shape.outputs[0] - axes[0].least;
  const int64_t sample = row / shape.outputs[1] / shape.outputs[0];
  // Pixels that some tap of an image's meets.
  const int64_t first = std::max<int64_t>(axes[2].least, 0);
  const int64_t last = std::min(axes[2].least + extents[2], shape.outputs[2]);
  if (at0 < 0 || at0 >= extents[0] || at1 < 0 || at1 >= extents[1] || first >= last)
    return;
  const int64_t count = shape.outputs[2] * shape.filters;
  const int64_t filterStride = Convolution::product(extents);
  const int64_t start = sample * shape.filters * filterStride +
                        (at0 * extents[1] + at1) * extents[2] + first - axes[2].least;
  const void *from = at(outputs, row * count, shape.rhs);
  if (elementBytes == 2)
    return transposePixels(static_cast<const uint16_t *>(from), first, last, shape.filters,
                           filterStride,
                           reinterpret_cast<uint16_t *>(paddedOutputs.data()) + start);
  if (shape.rhs != MPC_RT_FLOAT32) {
    (shape.rhs == MPC_RT_BFLOAT16 ? vectors.widenBFloat16 : vectors.widenFloat16)(
        static_cast<const uint16_t *>(from), own.panel.floats(), static_cast<size_t>(count));
    from = own.panel.data();
  }
  transposePixels(static_cast<const float *>(from), first, last, shape.filters, filterStride,
                  paddedOutputs.floats() + start);
}

// ---- Products -----------------------------------------------------------------------------------

Im2colFilterGradient::Segment Im2colFilterGradient::segmentAt(int64_t index) const {
  const int64_t ofRow = ceilDivide(shape.images[2], segmentPixels);
  const int64_t first = index % ofRow * segmentPixels;
  return {index / ofRow, first, std::min(segmentPixels, shape.images[2] - first)};
}

int64_t Im2colFilterGradient::paddedOffset(const Segment &segment) const {
  const int64_t at1 = segment.row % shape.images[1];
  const int64_t at0 = segment.row / shape.images[1] % shape.images[0];
  const int64_t sample = segment.row / shape.images[1] / shape.images[0];
  return ((sample * shape.filters * extents[0] + at0) * extents[1] + at1) * extents[2] +
         segment.first;
}

void Im2colFilterGradient::packSegments(const void *images, int64_t panel, int64_t first,
                                        int64_t last, Workspace &own) const {
  const int64_t channel = panel * kernel.columns;
  own.pieces.clear();
  own.parts.clear();
  uint8_t *to = own.panel.data();
  for (int64_t i = first; i < last; ++i) {
    const Segment segment = segmentAt(i);
    const int64_t steps = ceilDivide(segment.count, micro.depth);
    const int64_t pixel = segment.row * shape.images[2] + segment.first;
    kernel.packRhs[shape.lhs][0]({at(images, pixel * shape.channels + channel, shape.lhs),
                                  shape.channels, shape.channels - channel, segment.count},
                                 1, steps, to);
    own.parts.push_back(segment);
    own.pieces.push_back({paddedOffset(segment) * elementBytes, to, steps});
    to += steps * kernel.columns * kernel.laneBytes;
  }
}

void Im2colFilterGradient::multiply(const void *images, int64_t panel, int64_t first, int64_t last,
                                    float *target, Workspace &own) const {
  const int64_t atOnce = packedPixels / segmentPixels;
  std::memset(target, 0, static_cast<size_t>(rows * kernel.columns) * sizeof(float));
  const uint8_t *starts[mostPieceRows];
  for (int64_t part = first; part < last; part += atOnce) {
    packSegments(images, panel, part, std::min(part + atOnce, last), own);
    for (size_t i = 0; i < own.parts.size(); ++i)
      takeOut(i, target, own);
    PieceTile tile = {};
    tile.lanes = starts;
    tile.lhsStepBytes = tile.lastStepBytes = kernel.laneBytes;
    tile.pieces = own.pieces.data();
    tile.count = static_cast<int64_t>(own.pieces.size());
    tile.sumStride = kernel.columns;
    for (int64_t row = 0; row < rows; row += kernel.rows) {
      tile.rows = std::min(kernel.rows, rows - row);
      for (int64_t i = 0; i < tile.rows; ++i)
        starts[i] = paddedOutputs.data() + lanes[static_cast<size_t>(row + i)] * elementBytes;
      tile.sums = target + row * kernel.columns;
      kernel.multiply(tile);
    }
  }
}

void Im2colFilterGradient::takeOut(size_t part, float *target, Workspace &own) const {
  const Piece &piece = own.pieces[part];
  const int64_t ofStep = kernel.columns * micro.depth, count = piece.steps * ofStep;
  auto *packed = const_cast<uint8_t *>(piece.rhs);
  // Exponents of ones only.
  constexpr uint32_t infinity32 = 0x7f800000, infinity16 = 0x7f80;
  const bool isFinite = elementBytes == 2
                            ? vectors.largest16(reinterpret_cast<const uint16_t *>(packed),
                                                static_cast<size_t>(count)) < infinity16
                            : vectors.largest32(reinterpret_cast<const uint32_t *>(packed),
                                                static_cast<size_t>(count)) < infinity32;
  if (isFinite)
    return;
  for (int64_t i = 0; i < count; ++i) { // [steps, columns, depth]
    const auto value = static_cast<float>(loadElement(packedDtype(micro), packed, i));
    if (std::isfinite(value))
      continue;
    storeElement(packedDtype(micro), packed, i, 0);
    multiplyAlone(own.parts[part], i / ofStep * micro.depth + i % micro.depth, value,
                  target + i % ofStep / micro.depth);
  }
}

void Im2colFilterGradient::multiplyAlone(const Segment &segment, int64_t pixel, float value,
                                         float *target) const {
  auto meets = [](const Col2imAxis &axis, int64_t image, int64_t offset) {
    return image + offset >= 0 && image + offset < axis.narrow;
  };
  const int64_t at1 = segment.row % shape.images[1];
  const int64_t at0 = segment.row / shape.images[1] % shape.images[0];
  const int64_t start = paddedOffset(segment) + pixel;
  int64_t row = 0;
  for (int64_t o0 : axes[0].offsets)
    for (int64_t o1 : axes[1].offsets)
      for (int64_t o2 : axes[2].offsets)
        for (int64_t filter = 0; filter < shape.filters; ++filter, ++row)
          if (meets(axes[0], at0, o0) && meets(axes[1], at1, o1) &&
              meets(axes[2], segment.first + pixel, o2))
            target[row * kernel.columns] +=
                value * static_cast<float>(loadElement(packedDtype(micro), paddedOutputs.data(),
                                                       start + lanes[static_cast<size_t>(row)]));
}

// ---- Result -------------------------------------------------------------------------------------

void Im2colFilterGradient::finish(void *out) {
  const int64_t groupSums = panels * rows * kernel.columns;
  team.forRange(groupSums, conversionGrain, [&](int64_t begin, int64_t end) {
    float *total = sums.floats() + begin;
    vectors.addRows[MPC_RT_FLOAT32](total + groupSums, static_cast<size_t>(groupSums),
                                    static_cast<size_t>(groups - 1), total,
                                    static_cast<size_t>(end - begin));
  });
  const int64_t ofTap = shape.channels * shape.filters;
  const EpilogueRow finishRow = vectors.epilogue[shape.out][0];
  team.shareOut(taps, team.threads(), [&](Turns &turns) {
    float *filter = workspaces[turns.slot()].panel.floats();
    for (int64_t tap; turns.take(tap);) {
      orderTap(tap, filter);
      finishRow(filter, nullptr, const_cast<uint8_t *>(at(out, tap * ofTap, shape.out)),
                static_cast<size_t>(ofTap));
    }
  });
}

void Im2colFilterGradient::orderTap(int64_t tap, float *filter) const {
  for (int64_t column = 0; column < shape.filters; ++column)
    for (int64_t first = 0; first < shape.channels; first += kernel.columns) {
      const int64_t row = first / kernel.columns * rows + tap * shape.filters + column;
      const float *from = sums.floats() + row * kernel.columns;
      const int64_t count = std::min(kernel.columns, shape.channels - first);
      for (int64_t i = 0; i < count; ++i)
        filter[(first + i) * shape.filters + column] = from[i];
    }
}

} // namespace mpc::rt
