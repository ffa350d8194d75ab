// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/convolve/gemm_col2im.h"
#include "runtime/drivers/cpu/kernels/row_passes.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt {
namespace {

// Pixels whose products stay in a near cache until they are added up, and sums that do so until
// they are results.
constexpr int64_t pixelsOfChunk = 128, mostBandBytes = 512 << 10;

size_t outermostOf(const std::array<Col2imAxis, 3> &axes) {
  size_t d = 0;
  while (d + 1 < axes.size() && axes[d].wide == 1 && axes[d].narrow == 1)
    ++d;
  return d;
}

// [taps, depth, columns] as [taps, columns, depth].
template <typename Element>
void transposeTaps(const Element *from, int64_t taps, int64_t depth, int64_t columns, Element *to) {
  for (int64_t tap = 0; tap < taps; ++tap, from += depth * columns, to += depth * columns)
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t column = 0; column < columns; ++column)
        to[column * depth + k] = from[k * columns + column];
}

} // namespace

bool GemmCol2im::multiplies(const MicroKernel &kernel, const Convolution &c) {
  const bool isPlain = c.toImages() || Convolution::product(c.strides) == 1;
  return c.groups == 1 && c.direction != MPC_RT_CONVOLUTION_FILTER_GRADIENT && isPlain &&
         depthOf(c) % kernel.pieces[1]->multiple == 0 && c.out <= MPC_RT_FLOAT16 &&
         c.rhs <= MPC_RT_FLOAT16 && kernel.packRhs[c.rhs][0];
}

GemmCol2im::GemmCol2im(ThreadTeam &team, const VectorKernels &vectors, const MicroKernel &micro,
                       const Convolution &shape)
    : team(team), vectors(vectors), shape(shape), micro(micro), kernel(*micro.pieces[1]),
      depth(depthOf(shape)), columns(shape.outColumns()), taps(Convolution::product(shape.kernel)),
      steps(ceilDivide(depth, micro.depth)), elementBytes(kernel.laneBytes / micro.depth),
      axes{col2imAxis(shape, 0), col2imAxis(shape, 1), col2imAxis(shape, 2)},
      cut(outermostOf(axes)), chunk(ceilDivide(pixelsOfChunk, kernel.columns) * kernel.columns),
      phaseLength(ceilDivide(axes[2].narrow, axes[2].stride)),
      biasRow(static_cast<size_t>(axes[2].narrow * columns)), workspaces(team.threads()) {
  const int64_t bands = bandsFor(shape.batch);
  int64_t most = 0;
  for (int64_t i = 0; i < bands; ++i)
    most = std::max(most, sumsOf(bandAt(i, bands)));
  for (Workspace &own : workspaces) { // here: a thread of a team cannot fail
    reserve(own.panels, static_cast<uint64_t>(chunk * steps * kernel.laneBytes));
    reserveFloats(own.products, taps * columns * chunk);
    reserveFloats(own.sums, columns * most);
    reserveFloats(own.row, axes[2].narrow * columns);
  }
}

uint64_t GemmCol2im::bytes() const {
  uint64_t total = 0;
  for (const Workspace &own : workspaces)
    total += own.panels.size() + own.products.size() + own.sums.size() + own.row.size();
  return total;
}

// ---- Filter -------------------------------------------------------------------------------------

// [taps, columns, depth] of what the kernel multiplies, and behind it, where the order changes as
// well, what is widened first.
uint64_t GemmCol2im::filterBytes() const {
  const bool isWidened = elementBytes == sizeof(float) && shape.rhs != MPC_RT_FLOAT32;
  return static_cast<uint64_t>(taps * columns * depth * elementBytes) *
         (isWidened && !shape.toImages() ? 2 : 1);
}

void GemmCol2im::packFilter(const void *filter, void *to) const {
  const int64_t count = taps * columns * depth;
  if (elementBytes == sizeof(float) && shape.rhs != MPC_RT_FLOAT32) {
    float *wide = static_cast<float *>(to) + (shape.toImages() ? 0 : count);
    widenElements(team, vectors, shape.rhs, filter, wide, count);
    filter = wide;
  }
  if (shape.toImages()) { // [taps, channels, filters]
    if (filter != to)
      std::memcpy(to, filter, static_cast<size_t>(count * elementBytes));
  } else if (elementBytes == sizeof(float)) {
    transposeTaps(static_cast<const float *>(filter), taps, depth, columns,
                  static_cast<float *>(to));
  } else {
    transposeTaps(static_cast<const uint16_t *>(filter), taps, depth, columns,
                  static_cast<uint16_t *>(to));
  }
}

// ---- Bands --------------------------------------------------------------------------------------

int64_t GemmCol2im::bandsFor(int64_t samples) const {
  const int64_t bytes = axes[0].narrow * axes[1].narrow * axes[2].narrow * columns *
                        static_cast<int64_t>(sizeof(float));
  const int64_t forThreads = ceilDivide(static_cast<int64_t>(team.threads()), samples);
  return std::min(std::max(ceilDivide(bytes, mostBandBytes), forThreads),
                  cut == 2 ? phaseLength : axes[cut].narrow);
}

GemmCol2im::Band GemmCol2im::bandAt(int64_t index, int64_t bands) const {
  Band band{{}, {axes[0].narrow, axes[1].narrow, axes[2].narrow}};
  // A row is cut between results of all phases.
  const int64_t step = cut == 2 ? axes[2].stride : 1;
  const int64_t count = ceilDivide(axes[cut].narrow, step);
  band.first[cut] = count * index / bands * step;
  band.last[cut] = std::min(count * (index + 1) / bands * step, axes[cut].narrow);
  return band;
}

int64_t GemmCol2im::sumsOf(const Band &band) const {
  return band.extent(0) * band.extent(1) * ceilDivide(band.extent(2), axes[2].stride) *
         axes[2].stride;
}

void GemmCol2im::run(const void *lhs, const void *packedFilter, const float *bias,
                     const ConvolutionResult &result, int64_t samples) {
  for (size_t i = 0; bias && i < biasRow.size(); ++i)
    biasRow[i] = bias[i % static_cast<size_t>(columns)];
  const int64_t sources = axes[0].wide * axes[1].wide * axes[2].wide;
  const int64_t results = axes[0].narrow * axes[1].narrow * axes[2].narrow;
  const int64_t bands = bandsFor(samples), units = bands * samples;
  team.shareOut(units, team.threads(), [&](Turns &turns) {
    alignas(64) uint8_t state[microKernelStateBytes];
    micro.enter(state);
    for (int64_t i; turns.take(i);)
      runBand(bandAt(i % bands, bands),
              static_cast<const uint8_t *>(lhs) + i / bands * sources * depth * elementBytes,
              static_cast<const uint8_t *>(packedFilter), bias ? biasRow.data() : nullptr,
              result.at(i / bands * results * columns), workspaces[turns.slot()]);
    micro.leave(state);
  });
  result.finishAll(team, samples * results * columns);
}

void GemmCol2im::runBand(const Band &band, const uint8_t *lhs, const uint8_t *filter,
                         const float *bias, uint8_t *out, Workspace &own) const {
  std::memset(own.sums.data(), 0, static_cast<size_t>(sumsOf(band) * columns) * sizeof(float));
  // The sources that belong to some result of the band. Chunks begin where they do for other bands,
  // so that sums have the same order.
  const Col2imAxis &axis = axes[cut];
  const int64_t inner = cut == 0 ? axes[1].wide * axes[2].wide : cut == 1 ? axes[2].wide : 1;
  const auto sourcesBefore = [&](int64_t result) {
    return std::min(ceilDivide(std::max<int64_t>(result, 0), axis.stride), axis.wide) * inner;
  };
  const int64_t first = sourcesBefore(band.first[cut] - axis.most);
  const int64_t last = sourcesBefore(band.last[cut] - axis.least);
  for (int64_t start = first / chunk * chunk; start < last; start += chunk) {
    const int64_t begin = std::max(start, first), end = std::min(start + chunk, last);
    multiply(lhs, begin, end - begin, filter, own);
    col2im(begin, end - begin, band, own);
  }
  finish(band, bias, out, own);
}

// ---- Products and sums --------------------------------------------------------------------------

void GemmCol2im::multiply(const uint8_t *lhs, int64_t first, int64_t count, const uint8_t *filter,
                          Workspace &own) const {
  const int64_t panels = ceilDivide(count, kernel.columns), rows = taps * columns;
  kernel.packRhs[packedDtype(micro)][1]({lhs + first * depth * elementBytes, depth, count, depth},
                                        panels, steps, own.panels.data());
  PieceTile tile = {};
  tile.lhsStepBytes = kernel.laneBytes;
  tile.lastStepBytes = (depth - (steps - 1) * micro.depth) * elementBytes;
  tile.count = 1;
  tile.sumStride = chunk;
  tile.first = true;
  const uint8_t *lanes[mostPieceRows];
  tile.lanes = lanes;
  for (int64_t panel = 0; panel < panels; ++panel) {
    const Piece piece{0, own.panels.data() + panel * steps * kernel.columns * kernel.laneBytes,
                      steps};
    tile.pieces = &piece;
    for (int64_t row = 0; row < rows; row += kernel.rows) {
      tile.rows = std::min(kernel.rows, rows - row);
      for (int64_t i = 0; i < tile.rows; ++i)
        lanes[i] = filter + (row + i) * depth * elementBytes;
      tile.sums = own.products.floats() + row * chunk + panel * kernel.columns;
      kernel.multiply(tile);
    }
  }
}

void GemmCol2im::col2im(int64_t first, int64_t count, const Band &band, Workspace &own) const {
  const auto &[outer, middle, inner] = axes;
  const int64_t rowSums = ceilDivide(band.extent(2), inner.stride) * inner.stride;
  for (int64_t pixel = first, next; pixel < first + count; pixel = next) {
    const int64_t row = pixel / inner.wide;
    next = std::min((row + 1) * inner.wide, first + count);
    for (size_t i = 0; i < outer.offsets.size(); ++i)
      for (size_t j = 0; j < middle.offsets.size(); ++j) {
        const int64_t at0 = row / middle.wide * outer.stride + outer.offsets[i];
        const int64_t at1 = row % middle.wide * middle.stride + middle.offsets[j];
        if (at0 < band.first[0] || at0 >= band.last[0] || at1 < band.first[1] ||
            at1 >= band.last[1])
          continue;
        const int64_t sumRow = (at0 - band.first[0]) * band.extent(1) + at1 - band.first[1];
        const size_t tap = (i * middle.offsets.size() + j) * inner.offsets.size();
        col2imRow(own.products.floats() + static_cast<int64_t>(tap) * columns * chunk + pixel -
                      first,
                  pixel - row * inner.wide, next - row * inner.wide, band,
                  own.sums.floats() + sumRow * rowSums);
      }
  }
}

void GemmCol2im::col2imRow(const float *products, int64_t first, int64_t last, const Band &band,
                           float *sums) const {
  const Col2imAxis &axis = axes[2];
  const AddRows add = vectors.addRows[MPC_RT_FLOAT32];
  const int64_t length = ceilDivide(band.extent(2), axis.stride), columnSums = sumsOf(band);
  for (const int64_t offset : axis.offsets) {
    // Source s belongs to the result s + moved of a phase, whose results in the row end at `end`.
    const int64_t phase = ((offset % axis.stride) + axis.stride) % axis.stride;
    const int64_t moved = (offset - band.first[2] - phase) / axis.stride;
    const int64_t end = ceilDivide(band.extent(2) - phase, axis.stride);
    const int64_t from = std::max(first, -moved), to = std::min(last, end - moved);
    for (int64_t column = 0; column < columns && from < to; ++column)
      add(products + column * chunk + from - first, 0, 1,
          sums + column * columnSums + phase * length + from + moved,
          static_cast<size_t>(to - from));
    products += columns * chunk;
  }
}

void GemmCol2im::finish(const Band &band, const float *bias, uint8_t *out, Workspace &own) const {
  const EpilogueRow finishRow = vectors.epilogue[shape.out][(shape.hasBias ? epilogueBias : 0u) |
                                                            (shape.relu ? epilogueRelu : 0u)];
  const int64_t stride = axes[2].stride, length = ceilDivide(band.extent(2), stride);
  for (int64_t i = 0; i < band.extent(0); ++i)
    for (int64_t j = 0; j < band.extent(1); ++j) {
      const float *sums = own.sums.floats() + (i * band.extent(1) + j) * length * stride;
      float *row = own.row.floats();
      for (int64_t column = 0; column < columns; ++column)
        for (int64_t phase = 0; phase < stride; ++phase) {
          const float *from = sums + column * sumsOf(band) + phase * length;
          for (int64_t pixel = phase; pixel < band.extent(2); pixel += stride)
            row[pixel * columns + column] = *from++;
        }
      const int64_t result =
          ((band.first[0] + i) * axes[1].narrow + band.first[1] + j) * axes[2].narrow +
          band.first[2];
      finishRow(row, bias, const_cast<uint8_t *>(at(out, result * columns, shape.out)),
                static_cast<size_t>(band.extent(2) * columns));
    }
}

} // namespace mpc::rt
