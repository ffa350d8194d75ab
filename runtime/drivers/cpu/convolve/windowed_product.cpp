// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/convolve/windowed_product.h"
#include "runtime/drivers/cpu/kernels/line_fetcher.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt {
namespace {

// Taps of so few k are multiplied as one where they lie together: to begin with a tap takes about
// as long as four k.
constexpr int64_t mostJoinedDepth = 48;

// A thread goes through this many bytes of images and results once per panel of the filter.
constexpr int64_t blockOfSamplesBytes = 256 << 10;

// To copy an image takes as long as some taps and panels gain (docs/decisions/0159).
bool isCopyingWorthIt(const Convolution &c, int64_t panels) {
  constexpr int64_t fewestUses = 16;
  return Convolution::product(c.kernel) * panels >= fewestUses * Convolution::product(c.strides);
}

int64_t join(const Convolution::Extents &extents, int64_t outer, int64_t row, int64_t pixel) {
  return (outer * extents[1] + row) * extents[2] + pixel;
}

} // namespace

bool WindowedProduct::multiplies(const MicroKernel &kernel, const Convolution &c) {
  return c.groups == 1 && depthOf(c) % kernel.pieces[0]->multiple == 0 &&
         c.direction != MPC_RT_CONVOLUTION_FILTER_GRADIENT && c.rhs <= MPC_RT_FLOAT16 &&
         kernel.pieces[0]->packRhs[c.rhs][0] && c.out <= MPC_RT_FLOAT16;
}

WindowedProduct::WindowedProduct(ThreadTeam &team, const VectorKernels &vectors,
                                 const MicroKernel &micro, const Convolution &shape)
    : team(team), vectors(vectors), shape(shape), micro(micro),
      kernel(pieceKernelFor(micro, shape.outColumns())), depth(depthOf(shape)),
      columns(shape.outColumns()), panels(ceilDivide(columns, kernel.columns)),
      steps(ceilDivide(depth, micro.depth)), panelBytes(steps * kernel.columns * kernel.laneBytes),
      copies(micro.lhsCopies > 1 && kernel.multiplyCopies != kernel.multiply &&
             isCopyingWorthIt(shape, panels)),
      lhsBytes(kernel.laneBytes / micro.depth * (copies ? micro.lhsCopies : 1)),
      joins(shape.kernel[2] > 1 && shape.dilations[2] == 1 && depth <= mostJoinedDepth &&
            depth % micro.depth == 0),
      tapBytes(joins ? panelBytes : panels * panelBytes),
      nextPanelBytes(joins ? Convolution::product(shape.kernel) * panelBytes : panelBytes),
      sources(shape.toImages() ? shape.outputs : shape.images),
      results(shape.toImages() ? shape.images : shape.outputs), workspaces(team.threads()) {
  makeClasses();
  const int64_t copiedBytes = Convolution::product(sources) * depth * lhsBytes;
  for (Workspace &own : workspaces)
    if (copies)
      reserve(own.copies, std::max(copiedBytes, blockOfSamplesBytes));
}

uint64_t WindowedProduct::bytes() const {
  uint64_t total = 0;
  for (const Workspace &own : workspaces)
    total += own.copies.size();
  return total;
}

const uint8_t *WindowedProduct::copy(const void *lhs, int64_t first, int64_t samples,
                                     Workspace &own) const {
  const int64_t elements = Convolution::product(sources) * depth;
  micro.prepareLanes[MPC_RT_FLOAT32](static_cast<const float *>(lhs) + first * elements,
                                     samples * elements, own.copies.floats());
  return reinterpret_cast<const uint8_t *>(reinterpret_cast<intptr_t>(own.copies.data()) -
                                           first * elements * lhsBytes);
}

void WindowedProduct::makeClasses() {
  for (size_t d = 0; d < 3; ++d)
    along[d] = windowClasses(shape, d);
  for (const WindowClass &outer : along[0])
    for (const WindowClass &row : along[1])
      for (const WindowClass &inner : along[2]) {
        Class all{{&outer, &row, &inner}, {}, 0};
        all.pixels =
            static_cast<int64_t>(outer.pixels.size() * row.pixels.size() * inner.pixels.size());
        for (size_t i = 0; i < outer.taps.size(); ++i)
          for (size_t j = 0; j < row.taps.size(); ++j)
            for (size_t k = 0; k < inner.taps.size(); ++k)
              addTap({join(sources, outer.distances[i], row.distances[j], inner.distances[k]) *
                          depth * lhsBytes,
                      join(shape.kernel, outer.taps[i], row.taps[j], inner.taps[k]) * tapBytes,
                      steps},
                     all.taps);
        classes.push_back(std::move(all));
      }
}

void WindowedProduct::addTap(const Class::Tap &tap, std::vector<Class::Tap> &taps) const {
  if (joins && !taps.empty()) {
    Class::Tap &last = taps.back();
    const int64_t before = last.steps / steps; // that are joined
    if (last.lhs + before * depth * lhsBytes == tap.lhs &&
        last.rhs + before * tapBytes == tap.rhs) {
      last.steps += steps;
      return;
    }
  }
  taps.push_back(tap);
}

const void *WindowedProduct::filterLayout() const {
  static const char joined = 0;
  return joins ? static_cast<const void *>(&joined) : &kernel;
}

uint64_t WindowedProduct::filterBytes() const {
  return static_cast<uint64_t>(Convolution::product(shape.kernel) * panels * panelBytes);
}

void WindowedProduct::packFilter(const void *filter, void *to) const {
  const bool contiguous = shape.toImages(); // [taps, channels, filters]: k is what comes last
  const PackPanels pack = kernel.packRhs[shape.rhs][contiguous];
  // Panels of a tap lie apart where taps are joined.
  const int64_t atOnce = joins ? 1 : panels;
  const int64_t laneStride = contiguous ? shape.filters : 1;
  team.forRange(Convolution::product(shape.kernel), 1, [&](int64_t begin, int64_t end) {
    for (int64_t tap = begin; tap < end; ++tap)
      for (int64_t panel = 0; panel < panels; panel += atOnce) {
        const int64_t column = panel * kernel.columns;
        pack({at(filter, tap * depth * columns + column * laneStride, shape.rhs), shape.filters,
              columns - column, depth},
             atOnce, steps, static_cast<uint8_t *>(to) + tap * tapBytes + panel * nextPanelBytes);
      }
  });
}

void WindowedProduct::run(const void *lhs, const void *packedFilter, const float *bias,
                          const ConvolutionResult &result, int64_t samples) {
  const int64_t threads = team.threads();
  const int64_t ofSample = Convolution::product(results) * columns;
  const int64_t sampleBytes = Convolution::product(sources) * depth * lhsBytes +
                              ofSample * static_cast<int64_t>(dtypeSize(shape.out));
  const int64_t block =
      std::clamp<int64_t>(blockOfSamplesBytes / sampleBytes, 1,
                          ceilDivide(samples, threads * ThreadTeam::partsPerThread));
  const int64_t blocks = ceilDivide(samples, block);
  // Few samples: threads share one, by panels, so that each reads a part of the filter only, or the
  // rows of each class.
  // Each part copies a sample anew.
  const bool byPanels = panels >= threads;
  const int64_t parts = blocks >= threads ? 1
                        : !byPanels || copies
                            ? threads
                            : std::min(panels, threads * ThreadTeam::partsPerThread);
  size_t pixels = 0, taps = 0;
  for (const Class &each : classes) {
    pixels += static_cast<size_t>(each.pixels * block);
    taps = std::max(taps, each.taps.size());
  }
  for (Workspace &own : workspaces) { // here: a thread of a team cannot fail
    own.lanes.reserve(pixels);
    own.rows.reserve(pixels);
    own.pieces.reserve(taps);
  }
  team.shareOut(blocks * parts, threads, [&](Turns &turns) {
    alignas(64) uint8_t state[microKernelStateBytes];
    micro.enter(state);
    Workspace &own = workspaces[turns.slot()];
    for (int64_t i; turns.take(i);) {
      const int64_t first = i / parts * block, part = i % parts;
      const int64_t count = std::min(block, samples - first);
      collect(copies ? copy(lhs, first, count, own) : static_cast<const uint8_t *>(lhs), first,
              count, own);
      // The panel stays in the cache for all classes, of which small images have many.
      const int64_t firstPanel = byPanels ? panels * part / parts : 0;
      const int64_t lastPanel = byPanels ? panels * (part + 1) / parts : panels;
      // The tiles of all classes, which parts share.
      int64_t allTiles = 0;
      for (const Class &each : classes)
        allTiles += ceilDivide(each.pixels * count, kernel.rows);
      const int64_t firstTile = allTiles * part / parts, lastTile = allTiles * (part + 1) / parts;
      // The lanes of a class, from `lane` on, before which there are `before` tiles.
      auto laneRange = [&](const Class &each, int64_t lane, int64_t before) {
        const int64_t rows = each.pixels * count, tiles = ceilDivide(rows, kernel.rows);
        if (byPanels)
          return std::pair(lane, lane + rows);
        const auto laneOf = [&](int64_t tile) {
          return lane + std::min(std::clamp<int64_t>(tile - before, 0, tiles) * kernel.rows, rows);
        };
        return std::pair(laneOf(firstTile), laneOf(lastTile));
      };
      for (int64_t panel = firstPanel; panel < lastPanel; ++panel) {
        int64_t lane = 0, tile = 0;
        for (const Class &each : classes) {
          const auto [begin, end] = laneRange(each, lane, tile);
          lane += each.pixels * count;
          tile += ceilDivide(each.pixels * count, kernel.rows);
          if (!isZero(each))
            multiply(each, panel, own, begin, end, static_cast<const uint8_t *>(packedFilter), bias,
                     result.values);
          else if (panel == firstPanel)
            fillZeros(own, begin, end, panel, lastPanel, result.values);
        }
      }
      if (parts == 1)
        result.finish(result.at(first * ofSample), first * ofSample, (first + count) * ofSample);
    }
    micro.leave(state);
  });
  if (parts > 1)
    result.finishAll(team, samples * ofSample);
}

void WindowedProduct::collect(const uint8_t *lhs, int64_t first, int64_t samples,
                              Workspace &own) const {
  if (own.lhs == lhs && own.first == first && own.samples == samples)
    return;
  const bool isMoved = own.samples == samples; // and else the same
  const int64_t sampleBytes = Convolution::product(sources) * depth * lhsBytes;
  const int64_t bytes = reinterpret_cast<intptr_t>(lhs) - reinterpret_cast<intptr_t>(own.lhs) +
                        (first - own.first) * sampleBytes;
  const int64_t moved = (first - own.first) * Convolution::product(results);
  own.lhs = lhs, own.first = first, own.samples = samples;
  if (isMoved) {
    for (const uint8_t *&lane : own.lanes)
      lane = reinterpret_cast<const uint8_t *>(reinterpret_cast<intptr_t>(lane) + bytes);
    for (int64_t &row : own.rows)
      row += moved;
    return;
  }
  own.lanes.clear();
  own.rows.clear();
  for (const Class &each : classes)
    collect(each, lhs, first, samples, own);
}

void WindowedProduct::collect(const Class &windows, const uint8_t *lhs, int64_t first,
                              int64_t samples, Workspace &own) const {
  const auto &[outer, row, inner] = windows.along;
  for (int64_t sample = first; sample < first + samples; ++sample)
    for (size_t i = 0; i < outer->pixels.size(); ++i)
      for (size_t j = 0; j < row->pixels.size(); ++j)
        for (size_t k = 0; k < inner->pixels.size(); ++k) {
          const int64_t source =
              sample * Convolution::product(sources) +
              join(sources, outer->sources[i], row->sources[j], inner->sources[k]);
          own.lanes.push_back(lhs + source * depth * lhsBytes);
          own.rows.push_back(sample * Convolution::product(results) +
                             join(results, outer->pixels[i], row->pixels[j], inner->pixels[k]));
        }
}

// Row by row, as memory lies, instead of panel by panel.
void WindowedProduct::fillZeros(const Workspace &own, int64_t begin, int64_t end,
                                int64_t firstPanel, int64_t lastPanel, void *out) const {
  const int64_t outBytes = static_cast<int64_t>(dtypeSize(shape.out));
  const int64_t first = firstPanel * kernel.columns;
  const int64_t last = std::min(lastPanel * kernel.columns, columns);
  for (int64_t row = begin; row < end; ++row)
    std::memset(static_cast<uint8_t *>(out) +
                    (own.rows[static_cast<size_t>(row)] * columns + first) * outBytes,
                0, static_cast<size_t>((last - first) * outBytes));
}

void WindowedProduct::multiply(const Class &windows, int64_t panel, Workspace &own, int64_t begin,
                               int64_t end, const uint8_t *filter, const float *bias,
                               void *out) const {
  const EpilogueRow finish = vectors.epilogue[shape.out][(shape.hasBias ? epilogueBias : 0u) |
                                                         (shape.relu ? epilogueRelu : 0u)];
  const int64_t column = panel * kernel.columns;
  own.pieces.clear();
  for (const Class::Tap &tap : windows.taps)
    own.pieces.push_back({tap.lhs, filter + tap.rhs + panel * nextPanelBytes, tap.steps});
  alignas(64) float sums[mostPieceSums];
  PieceTile tile = {};
  tile.lhsStepBytes = lhsBytes * micro.depth;
  tile.lastStepBytes = (depth - (steps - 1) * micro.depth) * lhsBytes;
  tile.pieces = own.pieces.data();
  tile.count = static_cast<int64_t>(own.pieces.size());
  tile.sums = sums;
  tile.sumStride = kernel.columns;
  tile.first = true;
  const int64_t outBytes = static_cast<int64_t>(dtypeSize(shape.out));
  const int64_t count = std::min(kernel.columns, columns - column);
  const float *panelBias = bias ? bias + column : nullptr;
  uint8_t *targets[mostPieceRows];
  const FinishedRows finished = {targets, count, panelBias, shape.relu};
  if (kernel.finishedDtype == static_cast<int>(shape.out))
    tile.finished = &finished;
  const auto multiplyTile = copies ? kernel.multiplyCopies : kernel.multiply;
  const EvenTiles tiles(end - begin, kernel.rows);
  for (int64_t row = begin, index = 0; index < tiles.count(); row += tiles.rowsOf(index++)) {
    tile.rows = tiles.rowsOf(index);
    tile.lanes = own.lanes.data() + row;
    for (int64_t i = 0; i < tile.rows; ++i) {
      targets[i] = static_cast<uint8_t *>(out) +
                   (own.rows[static_cast<size_t>(row + i)] * columns + column) * outBytes;
      fetchLines(targets[i], count * outBytes);
    }
    multiplyTile(tile);
    for (int64_t i = 0; !tile.finished && i < tile.rows; ++i)
      finish(sums + i * kernel.columns, panelBias, targets[i], static_cast<size_t>(count));
  }
}

} // namespace mpc::rt
