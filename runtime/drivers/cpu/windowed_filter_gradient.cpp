// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/windowed_filter_gradient.h"
#include "runtime/drivers/cpu/blocking.h"

#include <algorithm>

namespace mpc::rt {
namespace {

// Packed samples of a block: what the second-level caches hold.
constexpr int64_t packedBlockBytes = 1 << 20;

} // namespace

// ---- Operands -----------------------------------------------------------------------------------

void WindowedFilterGradient::Operand::add(const Packing &packing) {
  auto same = std::find(packings.begin(), packings.end(), packing);
  ofTap.push_back(static_cast<size_t>(same - packings.begin()));
  if (same == packings.end()) {
    const int64_t offset = sampleBytes();
    packings.push_back(packing);
    packings.back().offset = offset;
  }
}

int64_t WindowedFilterGradient::Operand::rows() const {
  return extents[0] * rowStride * ceilDivide(extents[1], rowStride);
}

int64_t WindowedFilterGradient::Operand::position(int64_t outer, int64_t row) const {
  return outer * (rows() / extents[0]) + row % rowStride * ceilDivide(extents[1], rowStride) +
         row / rowStride;
}

int64_t WindowedFilterGradient::Operand::rowBytes(const Packing &packing) const {
  return packing.steps * panelLanes * laneBytes;
}

int64_t WindowedFilterGradient::Operand::sampleBytes() const {
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

WindowedFilterGradient::WindowedFilterGradient(ThreadTeam &team, const VectorKernels &vectors,
                                               const MicroKernel &micro, const Convolution &shape)
    : team(team), vectors(vectors), shape(shape), micro(micro),
      kernel(pieceKernelFor(micro, shape.filters)), depth(micro.depth), pieces(team.threads()) {
  auto operand = [](mpc_rt_dtype_t dtype, const Convolution::Extents &extents, int64_t lanes,
                    const PieceKernel &packing, PackTable packs, int64_t rowStride) {
    return Operand{dtype,
                   extents,
                   lanes,
                   packing.columns,
                   ceilDivide(lanes, packing.columns),
                   packing.laneBytes,
                   rowStride,
                   packs[dtype][0],
                   {},
                   {}};
  };
  const PieceKernel &ofChannels = pieceKernelFor(micro, shape.channels);
  lhs = operand(shape.lhs, shape.images, shape.channels, ofChannels, ofChannels.packLhs,
                shape.strides[1]);
  rhs = operand(shape.rhs, shape.outputs, shape.filters, kernel, kernel.packRhs, 1);
  for (int64_t tap = 0; tap < shape.kernel[2]; ++tap) {
    const TapRange range = outputsOfTap(shape, 2, tap);
    const int64_t steps = ceilDivide(range.count, depth);
    lhs.add({imageOf(shape, 2, range.first, tap), shape.strides[2], range.count, steps, 0});
    rhs.add({range.first, 1, range.count, steps, 0});
  }
  sumStride = rhs.panels * rhs.panelLanes;
  const int64_t sumBytes = Convolution::product(shape.kernel) * lhs.lanes * sumStride *
                           static_cast<int64_t>(sizeof(float));
  // Each block goes through all sums: where these leave the caches, few blocks do so.
  block = std::clamp<int64_t>(std::max(packedBlockBytes, sumBytes) /
                                  std::max<int64_t>(lhs.sampleBytes() + rhs.sampleBytes(), 1),
                              1, shape.batch);
  for (int64_t tap = 0; tap < Convolution::product(shape.kernel); ++tap)
    for (int64_t panel = 0; panel < rhs.panels; ++panel)
      for (int64_t first = 0; first < lhs.lanes; first += lhs.panelLanes) {
        const int64_t end = std::min(first + lhs.panelLanes, lhs.lanes);
        for (int64_t lane = first; lane < end; lane += kernel.rows)
          units.push_back({tap, panel, lane, std::min(kernel.rows, end - lane)});
      }
  for (std::vector<Piece> &own : pieces)
    own.reserve(static_cast<size_t>(block * shape.outputs[0]));
  reserve(packed, static_cast<uint64_t>(block * (lhs.sampleBytes() + rhs.sampleBytes())));
  reserve(sums, static_cast<uint64_t>(sumBytes));
}

// ---- Packing ------------------------------------------------------------------------------------

void WindowedFilterGradient::packRow(const Operand &operand, const void *data, int64_t row,
                                     int64_t sample, int64_t samples, uint8_t *to) const {
  const int64_t start = row * operand.extents[2]; // of all samples
  const int64_t inSample = row % (operand.extents[0] * operand.extents[1]);
  const int64_t position =
      operand.position(inSample / operand.extents[1], inSample % operand.extents[1]);
  for (const Packing &packing : operand.packings)
    for (int64_t panel = 0; panel < operand.panels; ++panel) {
      const int64_t lane = panel * operand.panelLanes;
      operand.pack({at(data, (start + packing.first) * operand.lanes + lane, operand.dtype),
                    packing.stride * operand.lanes, operand.lanes - lane, packing.count},
                   1, packing.steps,
                   to + samples * packing.offset +
                       ((panel * samples + sample) * operand.rows() + position) *
                           operand.rowBytes(packing));
    }
}

void WindowedFilterGradient::packBlock(const void *images, const void *outputs, int64_t first,
                                       int64_t samples) {
  const int64_t lhsRows = lhs.extents[0] * lhs.extents[1];
  const int64_t rhsRows = rhs.extents[0] * rhs.extents[1];
  uint8_t *rhsPacked = packed.data() + samples * lhs.sampleBytes();
  team.forRange(samples * (lhsRows + rhsRows), 8, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t sample = i / (lhsRows + rhsRows), row = i % (lhsRows + rhsRows);
      if (row < lhsRows)
        packRow(lhs, images, (first + sample) * lhsRows + row, sample, samples, packed.data());
      else
        packRow(rhs, outputs, (first + sample) * rhsRows + row - lhsRows, sample, samples,
                rhsPacked);
    }
  });
}

// ---- Products -----------------------------------------------------------------------------------

void WindowedFilterGradient::collect(const Unit &unit, int64_t samples,
                                     std::vector<Piece> &own) const {
  own.clear();
  const int64_t last = unit.tap % shape.kernel[2];
  const int64_t middle = unit.tap / shape.kernel[2] % shape.kernel[1];
  const int64_t outermost = unit.tap / shape.kernel[2] / shape.kernel[1];
  const Packing &lhsRows = lhs.packings[lhs.ofTap[static_cast<size_t>(last)]];
  const Packing &rhsRows = rhs.packings[rhs.ofTap[static_cast<size_t>(last)]];
  const TapRange outer = outputsOfTap(shape, 0, outermost);
  const TapRange rows = outputsOfTap(shape, 1, middle);
  if (rows.count == 0 || lhsRows.steps == 0)
    return;
  const uint8_t *panel = packed.data() + samples * (lhs.sampleBytes() + rhsRows.offset) +
                         unit.panel * samples * rhs.rows() * rhs.rowBytes(rhsRows);
  for (int64_t sample = 0; sample < samples; ++sample)
    for (int64_t i = outer.first; i < outer.first + outer.count; ++i) {
      const int64_t from =
          lhs.position(imageOf(shape, 0, i, outermost), imageOf(shape, 1, rows.first, middle));
      own.push_back(
          {(sample * lhs.rows() + from) * lhs.rowBytes(lhsRows),
           panel + (sample * rhs.rows() + rhs.position(i, rows.first)) * rhs.rowBytes(rhsRows),
           rows.count * lhsRows.steps});
    }
}

void WindowedFilterGradient::multiplyBlock(int64_t samples, bool first) {
  const int64_t threads = team.threads(), count = static_cast<int64_t>(units.size());
  team.forRange(threads, 1, [&](int64_t firstSlot, int64_t lastSlot) {
    alignas(64) uint8_t state[microKernelStateBytes];
    micro.enter(state);
    for (int64_t slot = firstSlot; slot < lastSlot; ++slot) {
      std::vector<Piece> &own = pieces[static_cast<size_t>(slot)];
      const Unit *before = nullptr;
      for (int64_t i = count * slot / threads; i < count * (slot + 1) / threads; ++i) {
        const Unit &unit = units[static_cast<size_t>(i)];
        if (!before || before->tap != unit.tap || before->panel != unit.panel)
          collect(unit, samples, own);
        before = &unit;
        const Packing &rows =
            lhs.packings[lhs.ofTap[static_cast<size_t>(unit.tap % shape.kernel[2])]];
        const int64_t panel = unit.lane / lhs.panelLanes;
        const uint8_t *start = packed.data() + samples * rows.offset +
                               panel * samples * lhs.rows() * lhs.rowBytes(rows);
        // A tap that meets padding only has no pieces, and perhaps nothing is packed.
        const uint8_t *lanes[mostPieceRows] = {};
        for (int64_t lane = 0; lane < unit.lanes && !own.empty(); ++lane)
          lanes[lane] = start + (unit.lane % lhs.panelLanes + lane) * lhs.laneBytes;
        PieceTile tile = {};
        tile.lanes = lanes;
        tile.rows = unit.lanes;
        tile.lhsStepBytes = lhs.panelLanes * lhs.laneBytes;
        tile.lastStepBytes = lhs.laneBytes;
        tile.pieces = own.data();
        tile.count = static_cast<int64_t>(own.size());
        tile.sums = reinterpret_cast<float *>(sums.data()) +
                    (unit.tap * lhs.lanes + unit.lane) * sumStride + unit.panel * rhs.panelLanes;
        tile.sumStride = sumStride;
        tile.first = first;
        kernel.multiply(tile);
      }
    }
    micro.leave(state);
  });
}

void WindowedFilterGradient::run(const void *images, const void *outputs, void *out) {
  for (int64_t first = 0; first < shape.batch; first += block) {
    const int64_t samples = std::min(block, shape.batch - first);
    packBlock(images, outputs, first, samples);
    multiplyBlock(samples, first == 0);
  }
  const EpilogueRow finish = vectors.epilogue[shape.out][0];
  const auto *from = reinterpret_cast<const float *>(sums.data());
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
