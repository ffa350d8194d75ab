// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/convolve/windowed_filter_gradient.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"

#include <algorithm>

namespace mpc::rt {
namespace {

// Packed samples: what the second-level caches hold.
constexpr int64_t packedBlockBytes = 1 << 20;
// All taps read a larger sample again from the shared cache, unless it is too large for that: then
// they read its bands (measured on a Zen 4, docs/decisions/0040).
constexpr int64_t mostSampleBytes = 12 << 20, bandBytes = 8 << 20;
// The most pixels in a row of a group of samples.
constexpr int64_t mostGroupPixels = 256;
// The kernel begins anew with each row that has others between its end and the next one.
constexpr int64_t fewestSharedPixels = 48;

// Samples whose rows follow each other in steps: the fewest that need hardly more of these than
// more samples would.
int64_t groupSamplesFor(const MicroKernel &kernel, const Convolution &c) {
  int64_t best = 1;
  if (!kernel.pieces[0]->packLhsPixels || !kernel.pieces[0]->packRhsPixels)
    return best;
  const auto stepsFor = [&](int64_t samples) {
    return ceilDivide(c.batch, samples) * ceilDivide(samples * c.outputs[2], kernel.depth);
  };
  for (int64_t more = 2; more <= std::min(c.batch, mostGroupPixels / c.outputs[2]); ++more)
    if (100 * stepsFor(best) > 104 * stepsFor(more))
      best = more;
  return best;
}

} // namespace

// ---- Operands -----------------------------------------------------------------------------------

void WindowedFilterGradient::Operand::add(const std::vector<Packing> &taps, bool areShared,
                                          int64_t depth) {
  for (const Packing &tap : taps) {
    Packing rows = tap;
    if (areShared)
      for (const Packing &other : taps)
        if (other.count > 0 && (other.first - tap.first) % tap.stride == 0) {
          const int64_t end = std::max(rows.end(), other.end());
          rows.first = std::min(rows.first, other.first);
          rows.count = (end - rows.first) / rows.stride;
        }
    // The last step holds zeros behind the tap, or no pixel at all.
    const int64_t skipped = (tap.first - rows.first) / rows.stride;
    const bool endsWithStep = tap.count % depth == 0 || skipped + tap.count == rows.count;
    if (tap.count == 0 || skipped % depth != 0 || !endsWithStep)
      rows = tap;
    rows.steps = areShared ? ceilDivide(rows.count, depth) : tap.steps;
    const auto same = std::find(packings.begin(), packings.end(), rows);
    ofTap.push_back({static_cast<size_t>(same - packings.begin()),
                     (tap.first - rows.first) / rows.stride / depth});
    if (same == packings.end())
      packings.push_back(rows);
  }
}

void WindowedFilterGradient::Operand::setOffsets() {
  int64_t offset = 0;
  for (Packing &packing : packings) {
    packing.offset = offset;
    offset += panels * rows() * rowBytes(packing);
  }
}

int64_t WindowedFilterGradient::Operand::rows() const {
  return extents[0] * rowStride * ceilDivide(extents[1], rowStride);
}

int64_t WindowedFilterGradient::Operand::position(int64_t outer, int64_t row) const {
  return outer * (rows() / extents[0]) + row % rowStride * ceilDivide(extents[1], rowStride) +
         row / rowStride;
}

int64_t WindowedFilterGradient::Operand::groupBytes() const {
  int64_t bytes = 0;
  for (const Packing &packing : packings)
    bytes += panels * rows() * rowBytes(packing);
  return bytes;
}

bool WindowedFilterGradient::multiplies(const MicroKernel &kernel, const Convolution &c) {
  auto packs = [&](mpc_rt_dtype_t dtype) {
    return dtype <= MPC_RT_FLOAT16 && kernel.pieces[0]->packRhs[dtype][0];
  };
  return c.groups == 1 && c.direction == MPC_RT_CONVOLUTION_FILTER_GRADIENT && packs(c.lhs) &&
         packs(c.rhs) && c.out <= MPC_RT_FLOAT16;
}

bool WindowedFilterGradient::sharesRows(const MicroKernel &kernel, const Convolution &c) {
  const bool isOneRow = c.outputs[0] * c.outputs[1] == 1;
  return c.kernel[2] > 1 && (isOneRow || c.outputs[2] >= fewestSharedPixels) &&
         groupSamplesFor(kernel, c) == 1;
}

WindowedFilterGradient::WindowedFilterGradient(ThreadTeam &team, const VectorKernels &vectors,
                                               const MicroKernel &micro, const Convolution &shape)
    : team(team), vectors(vectors), shape(shape), micro(micro),
      kernel(pieceKernelFor(micro, shape.filters)), depth(micro.depth),
      groupSamples(groupSamplesFor(micro, shape)), cut(shape.outputs[0] > 1 ? 0 : 1),
      pieces(team.threads()) {
  auto operand = [](mpc_rt_dtype_t dtype, const Convolution::Extents &extents, int64_t lanes,
                    const PieceKernel &packing, PackTable packs, PackPixels packPixels,
                    int64_t rowStride) {
    return Operand{dtype,
                   extents,
                   {0, 0},
                   {extents[0], extents[1]},
                   lanes,
                   packing.columns,
                   ceilDivide(lanes, packing.columns),
                   packing.laneBytes,
                   rowStride,
                   packs[dtype][0],
                   packPixels,
                   {},
                   {}};
  };
  const PieceKernel &ofChannels = pieceKernelFor(micro, shape.channels);
  lhs = operand(shape.lhs, shape.images, shape.channels, ofChannels, ofChannels.packLhs,
                ofChannels.packLhsPixels, shape.strides[1]);
  rhs = operand(shape.rhs, shape.outputs, shape.filters, kernel, kernel.packRhs,
                kernel.packRhsPixels, 1);
  std::vector<Packing> ofImages, ofOutputs;
  for (int64_t tap = 0; tap < shape.kernel[2]; ++tap) {
    const TapRange range = outputsOfTap(shape, 2, tap);
    const int64_t steps = ceilDivide(groupSamples * range.count, depth);
    ofImages.push_back(
        {imageOf(shape, 2, range.first, tap), shape.strides[2], range.count, steps, 0});
    ofOutputs.push_back({range.first, 1, range.count, steps, 0});
    stepsOfTap.push_back(steps);
  }
  const bool areShared = sharesRows(micro, shape);
  lhs.add(ofImages, areShared, depth);
  rhs.add(ofOutputs, areShared, depth);
  sumStride = rhs.panels * rhs.panelLanes;
  const int64_t sumBytes = Convolution::product(shape.kernel) * lhs.lanes * sumStride *
                           static_cast<int64_t>(sizeof(float));
  const int64_t whole = packedBytes(1);
  if (whole > mostSampleBytes) // of not too few rows, since some of each band are packed twice
    bands = std::clamp<int64_t>(ceilDivide(whole, bandBytes), 1,
                                ceilDivide(shape.outputs[cut], 2 * shape.kernel[cut]));
  // Each block goes through all sums: where these leave the caches, few blocks do so.
  const int64_t bytes = packedBytes(bands);
  blockGroups =
      std::clamp<int64_t>(std::max(packedBlockBytes, sumBytes) / std::max<int64_t>(bytes, 1), 1,
                          ceilDivide(shape.batch, groupSamples));
  for (int64_t tap = 0; tap < Convolution::product(shape.kernel); ++tap)
    for (int64_t panel = 0; panel < rhs.panels; ++panel)
      for (int64_t first = 0; first < lhs.lanes; first += lhs.panelLanes) {
        const int64_t end = std::min(first + lhs.panelLanes, lhs.lanes);
        for (int64_t lane = first; lane < end; lane += kernel.rows)
          units.push_back({tap, panel, lane, std::min(kernel.rows, end - lane)});
      }
  for (std::vector<Piece> &own : pieces)
    own.reserve(static_cast<size_t>(blockGroups * shape.outputs[0] * shape.outputs[1]));
  reserve(packed, static_cast<uint64_t>(blockGroups * bytes));
  reserve(sums, static_cast<uint64_t>(sumBytes));
}

// ---- Bands --------------------------------------------------------------------------------------

TapRange WindowedFilterGradient::bandAt(int64_t index, int64_t count) const {
  const int64_t first = shape.outputs[cut] * index / count;
  return {first, shape.outputs[cut] * (index + 1) / count - first};
}

void WindowedFilterGradient::setBand(const TapRange &band) {
  rhs.origin[cut] = band.first;
  rhs.extents[cut] = band.count;
  // Only the part of the images that the windows meet is packed; rows that follow each other when
  // packed do so in each band.
  const int64_t last = band.first + band.count - 1, step = cut == 1 ? lhs.rowStride : 1;
  const int64_t first = imageOf(shape, cut, band.first, 0);
  const int64_t end = imageOf(shape, cut, last, shape.kernel[cut] - 1) + 1;
  lhs.origin[cut] = std::clamp<int64_t>(first, 0, shape.images[cut]) / step * step;
  lhs.extents[cut] = std::max<int64_t>(std::min(end, shape.images[cut]) - lhs.origin[cut], 0);
  lhs.setOffsets();
  rhs.setOffsets();
}

int64_t WindowedFilterGradient::packedBytes(int64_t bandCount) {
  int64_t most = 0;
  for (int64_t i = 0; i < bandCount; ++i) {
    setBand(bandAt(i, bandCount));
    most = std::max(most, lhs.groupBytes() + rhs.groupBytes());
  }
  return most;
}

TapRange WindowedFilterGradient::outputsInBand(size_t d, int64_t tap) const {
  TapRange range = outputsOfTap(shape, d, tap);
  const int64_t end = std::min(range.first + range.count, rhs.origin[d] + rhs.extents[d]);
  range.first = std::max(range.first, rhs.origin[d]);
  range.count = std::max<int64_t>(end - range.first, 0);
  return range;
}

// ---- Packing ------------------------------------------------------------------------------------

void WindowedFilterGradient::packRow(const Operand &operand, const void *data, const Block &block,
                                     int64_t group, int64_t row, uint8_t *to) const {
  const int64_t outer = row / operand.extents[1], middle = row % operand.extents[1];
  const int64_t sample = block.first + group * groupSamples;
  const int64_t samples = std::min(groupSamples, block.first + block.samples - sample);
  const int64_t wholeRow =
      (sample * operand.whole[0] + operand.origin[0] + outer) * operand.whole[1] +
      operand.origin[1] + middle;
  const int64_t position = group * operand.rows() + operand.position(outer, middle);
  for (const Packing &packing : operand.packings) {
    const void *first =
        at(data, (wholeRow * operand.whole[2] + packing.first) * operand.lanes, operand.dtype);
    const int64_t bytes = operand.rowBytes(packing);
    const int64_t panelBytes = block.groups * operand.rows() * bytes;
    uint8_t *target = to + block.groups * packing.offset + position * bytes;
    if (groupSamples > 1)
      packGroup(operand, first, samples, packing, panelBytes, target);
    else
      for (int64_t panel = 0, lane = 0; panel < operand.panels; ++panel, lane += operand.panelLanes)
        operand.pack({at(first, lane, operand.dtype), packing.stride * operand.lanes,
                      operand.lanes - lane, packing.count},
                     1, packing.steps, target + panel * panelBytes);
  }
}

// The row of each sample, one after the other.
void WindowedFilterGradient::packGroup(const Operand &operand, const void *first, int64_t samples,
                                       const Packing &packing, int64_t panelBytes,
                                       uint8_t *to) const {
  const auto bytes = static_cast<int64_t>(dtypeSize(operand.dtype));
  const int64_t sampleBytes = Convolution::product(operand.whole) * operand.lanes * bytes;
  const int64_t pixelBytes = packing.stride * operand.lanes * bytes;
  std::array<const uint8_t *, mostGroupPixels> pixels;
  size_t count = 0;
  for (int64_t sample = 0; sample < samples; ++sample)
    for (int64_t pixel = 0; pixel < packing.count; ++pixel)
      pixels[count++] =
          static_cast<const uint8_t *>(first) + sample * sampleBytes + pixel * pixelBytes;
  for (int64_t panel = 0, lane = 0; panel < operand.panels; ++panel, lane += operand.panelLanes)
    operand.packPixels(
        {pixels.data(), lane * bytes, operand.lanes - lane, static_cast<int64_t>(count)}, 1,
        packing.steps, to + panel * panelBytes);
}

void WindowedFilterGradient::packBlock(const void *images, const void *outputs,
                                       const Block &block) {
  const int64_t lhsRows = lhs.extents[0] * lhs.extents[1];
  const int64_t rhsRows = rhs.extents[0] * rhs.extents[1];
  uint8_t *rhsPacked = packed.data() + block.groups * lhs.groupBytes();
  team.forRange(block.groups * (lhsRows + rhsRows), 8, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t group = i / (lhsRows + rhsRows), row = i % (lhsRows + rhsRows);
      if (row < lhsRows)
        packRow(lhs, images, block, group, row, packed.data());
      else
        packRow(rhs, outputs, block, group, row - lhsRows, rhsPacked);
    }
  });
}

// ---- Products -----------------------------------------------------------------------------------

void WindowedFilterGradient::collect(const Unit &unit, int64_t groups,
                                     std::vector<Piece> &own) const {
  own.clear();
  const int64_t last = unit.tap % shape.kernel[2];
  const int64_t middle = unit.tap / shape.kernel[2] % shape.kernel[1];
  const int64_t outermost = unit.tap / shape.kernel[2] / shape.kernel[1];
  const Tap &lhsTap = lhs.ofTap[static_cast<size_t>(last)];
  const Tap &rhsTap = rhs.ofTap[static_cast<size_t>(last)];
  const Packing &lhsRows = lhs.packings[lhsTap.packing], &rhsRows = rhs.packings[rhsTap.packing];
  const int64_t steps = stepsOfTap[static_cast<size_t>(last)];
  const TapRange outer = outputsInBand(0, outermost);
  const TapRange rows = outputsInBand(1, middle);
  if (rows.count == 0 || steps == 0)
    return;
  const uint8_t *panel = packed.data() + groups * (lhs.groupBytes() + rhsRows.offset) +
                         unit.panel * groups * rhs.rows() * rhs.rowBytes(rhsRows) +
                         rhsTap.skipped * rhs.stepBytes();
  // Rows without a gap between them are one piece.
  const bool areWhole = steps == lhsRows.steps && steps == rhsRows.steps;
  const int64_t count = areWhole ? 1 : rows.count,
                stepsOfPiece = areWhole ? rows.count * steps : steps;
  for (int64_t group = 0; group < groups; ++group)
    for (int64_t i = outer.first; i < outer.first + outer.count; ++i) {
      const int64_t lhsRow =
          group * lhs.rows() +
          lhs.positionAt(imageOf(shape, 0, i, outermost), imageOf(shape, 1, rows.first, middle));
      const int64_t rhsRow = group * rhs.rows() + rhs.positionAt(i, rows.first);
      for (int64_t row = 0; row < count; ++row)
        own.push_back({(lhsRow + row) * lhs.rowBytes(lhsRows) + lhsTap.skipped * lhs.stepBytes(),
                       panel + (rhsRow + row) * rhs.rowBytes(rhsRows), stepsOfPiece});
    }
}

void WindowedFilterGradient::multiplyBlock(int64_t groups, bool first) {
  team.shareOut(static_cast<int64_t>(units.size()), team.threads(), [&](Turns &turns) {
    alignas(64) uint8_t state[microKernelStateBytes];
    micro.enter(state);
    std::vector<Piece> &own = pieces[turns.slot()];
    const Unit *before = nullptr;
    for (int64_t i; turns.take(i);) {
      const Unit &unit = units[static_cast<size_t>(i)];
      if (!before || before->tap != unit.tap || before->panel != unit.panel)
        collect(unit, groups, own);
      before = &unit;
      const Packing &rows =
          lhs.packings[lhs.ofTap[static_cast<size_t>(unit.tap % shape.kernel[2])].packing];
      const int64_t panel = unit.lane / lhs.panelLanes;
      const uint8_t *start =
          packed.data() + groups * rows.offset + panel * groups * lhs.rows() * lhs.rowBytes(rows);
      // A tap that meets padding only has no pieces, and perhaps nothing is packed.
      const uint8_t *lanes[mostPieceRows] = {};
      for (int64_t lane = 0; lane < unit.lanes && !own.empty(); ++lane)
        lanes[lane] = start + (unit.lane % lhs.panelLanes + lane) * lhs.laneBytes;
      PieceTile tile = {};
      tile.lanes = lanes;
      tile.rows = unit.lanes;
      tile.lhsStepBytes = lhs.stepBytes();
      tile.lastStepBytes = lhs.laneBytes;
      tile.pieces = own.data();
      tile.count = static_cast<int64_t>(own.size());
      tile.sums = sums.floats() + (unit.tap * lhs.lanes + unit.lane) * sumStride +
                  unit.panel * rhs.panelLanes;
      tile.sumStride = sumStride;
      tile.first = first;
      kernel.multiply(tile);
    }
    micro.leave(state);
  });
}

void WindowedFilterGradient::run(const void *images, const void *outputs, void *out) {
  const int64_t blockSamples = blockGroups * groupSamples;
  for (int64_t first = 0; first < shape.batch; first += blockSamples) {
    const int64_t samples = std::min(blockSamples, shape.batch - first);
    const Block block = {first, samples, ceilDivide(samples, groupSamples)};
    for (int64_t band = 0; band < bands; ++band) {
      setBand(bandAt(band, bands));
      packBlock(images, outputs, block);
      multiplyBlock(block.groups, first == 0 && band == 0);
    }
  }
  const EpilogueRow finish = vectors.epilogue[shape.out][0];
  const float *from = sums.floats();
  const int64_t rows = Convolution::product(shape.kernel) * lhs.lanes;
  team.forRange(rows, std::max<int64_t>(conversionGrain / shape.filters, 1),
                [&](int64_t begin, int64_t end) {
                  for (int64_t row = begin; row < end; ++row)
                    finish(from + row * sumStride, nullptr,
                           const_cast<uint8_t *>(at(out, row * shape.filters, shape.out)),
                           static_cast<size_t>(shape.filters));
                });
}

} // namespace mpc::rt
