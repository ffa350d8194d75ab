// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/convolve/depthwise_convolution.h"
#include "runtime/drivers/cpu/kernels/work_blocks.h"

#include <algorithm>

namespace mpc::rt {
namespace {

// The windows of four pixels and the filter take this many floats, half of a first-level cache.
constexpr int64_t groupFloats = 6144;
// But no fewer channels than these: what lies beyond the cache comes slowly in short runs.
constexpr int64_t fewestChannels = 96, mostChannels = 256;
// Images of so many bytes come from memory, not from a cache.
constexpr int64_t largeImages = 8 << 20;
// A filter's gradient is summed in this many parts, however many threads there are.
constexpr int64_t mostParts = 16;

template <typename T> int64_t ssize(const std::vector<T> &values) {
  return static_cast<int64_t>(values.size());
}

} // namespace

static FinishPixels finishOf(const DepthwiseKernels &kernels, mpc_rt_dtype_t dtype) {
  if (dtype > MPC_RT_FLOAT16)
    return nullptr;
  const FinishPixels native =
      dtype == MPC_RT_BFLOAT16 ? nativeFinishOfBFloat16(kernels.lanes) : nullptr;
  return native ? native : kernels.finish[dtype];
}

// ---- Planning -----------------------------------------------------------------------------------

bool DepthwiseConvolution::multiplies(const DepthwiseKernels &kernels, const Convolution &c) {
  if (c.groups != c.channels || c.groups != c.filters || c.spatial > 2)
    return false;
  return c.isInteger() ||
         (4 * c.channels >= kernels.lanes && c.lhs <= MPC_RT_FLOAT16 && c.rhs <= MPC_RT_FLOAT16 &&
          c.out <= MPC_RT_FLOAT16 && (!c.hasBias || c.bias <= MPC_RT_FLOAT16));
}

bool DepthwiseConvolution::isInStrips(const DepthwiseKernels &kernels, const Convolution &c) {
  return multiplies(kernels, c) && coverByStrips(c, 2, kernels).others.empty();
}

DepthwiseConvolution::DepthwiseConvolution(ThreadTeam &team, const DepthwiseKernels &kernels,
                                           const Convolution &shape)
    : team(team), kernels(kernels), shape(shape),
      toFilter(shape.direction == MPC_RT_CONVOLUTION_FILTER_GRADIENT),
      finish(finishOf(kernels, shape.out)), from{shape.images[1], shape.images[2], shape.lhs},
      to{shape.outputs[1], shape.outputs[2], toFilter ? shape.rhs : shape.out},
      taps(shape.kernel[1] * shape.kernel[2]),
      padded(ceilDivide(shape.channels, kernels.lanes) * kernels.lanes),
      groupChannels(std::clamp<int64_t>(
          groupFloats / (taps + shape.kernel[1] * (4 + shape.kernel[2])) / 32 * 32, fewestChannels,
          mostChannels)),
      groups(ceilDivide(shape.channels, groupChannels)) {
  if (shape.direction == MPC_RT_CONVOLUTION_INPUT_GRADIENT) {
    std::swap(from.rows, to.rows);
    std::swap(from.pixels, to.pixels);
  }
  planRows();
  if (toFilter) {
    for (int64_t tap = 0; tap < shape.kernel[2]; ++tap) {
      const TapRange range = outputsOfTap(shape, 2, tap);
      tapsInRow.push_back({range.first, range.first + range.count, imageOf(shape, 2, 0, tap)});
    }
    parts = std::min(mostParts, shape.batch * to.rows);
    reserve(partSums, static_cast<uint64_t>(parts * taps * padded) * sizeof(float));
  } else {
    cover = coverByStrips(shape, 2, kernels);
    // Neighbouring bands widen rows that both meet.
    constexpr int64_t fewestRows = 4;
    bands = std::clamp<int64_t>(ceilDivide(4 * team.threads(), shape.batch * groups), 1,
                                std::max<int64_t>(to.rows / fewestRows, 1));
  }
  makeWorkspaces();
}

void DepthwiseConvolution::planRows() {
  rowTaps.resize(static_cast<size_t>(to.rows));
  for (const WindowClass &same : windowClasses(shape, 1)) {
    if (same.taps.empty())
      continue;
    const auto [least, most] = std::minmax_element(same.distances.begin(), same.distances.end());
    ringRows = std::max(ringRows, *most - *least + 1);
    for (size_t i = 0; i < same.pixels.size(); ++i)
      for (size_t t = 0; t < same.taps.size(); ++t)
        rowTaps[static_cast<size_t>(same.pixels[i])].push_back(
            {same.taps[t], same.sources[i] + same.distances[t]});
  }
  fetchedRows.resize(rowTaps.size());
  const int64_t bytes = shape.batch * from.rows * from.pixels * shape.channels *
                        static_cast<int64_t>(dtypeSize(from.dtype));
  for (size_t row = 0; isRead(from) && bytes >= largeImages && row + 1 < rowTaps.size(); ++row)
    for (const RowTap &later : rowTaps[row + 1])
      if (std::none_of(rowTaps[row].begin(), rowTaps[row].end(),
                       [&](const RowTap &met) { return met.source == later.source; }))
        fetchedRows[row].push_back(later.source);
}

void DepthwiseConvolution::makeWorkspaces() {
  const int64_t lhs = isRead(from) ? 0 : ringRows * from.pixels * strideOf(from);
  const int64_t rhs = !toFilter || isRead(to) ? 0 : to.pixels * strideOf(to);
  const int64_t most = lanesOf(groupAt(0));
  const int64_t filter = toFilter ? 0 : taps * padded, bias = toFilter ? 0 : padded,
                sums = toFilter ? 0 : to.pixels * most;
  const int64_t own = lhs + rhs + filter + bias + sums;
  reserve(scratch, static_cast<uint64_t>(own * team.threads()) * sizeof(float));
  const auto rows = static_cast<size_t>(shape.kernel[1]);
  for (unsigned slot = 0; slot < team.threads(); ++slot) {
    float *memory = scratch.floats() + slot * own;
    Workspace workspace;
    workspace.lhs = {&from, ringRows, memory, std::vector<int64_t>(static_cast<size_t>(ringRows))};
    workspace.rhs = {&to, 1, memory += lhs, std::vector<int64_t>(1)};
    workspace.filter = memory += rhs;
    workspace.bias = memory += filter;
    workspace.sums = memory + bias;
    workspace.rows.resize(rows);
    workspace.weights.resize(rows);
    workspace.next.reserve(rows); // here: a thread of a team cannot fail
    workspace.holdsFilter.resize(static_cast<size_t>(groups));
    workspaces.push_back(std::move(workspace));
  }
}

DepthwiseConvolution::Group DepthwiseConvolution::groupAt(int64_t index) const {
  const int64_t first = index * groupChannels;
  const int64_t channels = std::min(groupChannels, shape.channels - first);
  return {first, channels, ceilDivide(channels, kernels.lanes)};
}

// ---- Rows ---------------------------------------------------------------------------------------

bool DepthwiseConvolution::isRead(const Extent &extent) const {
  return extent.dtype == MPC_RT_FLOAT32 && shape.channels % kernels.lanes == 0;
}

int64_t DepthwiseConvolution::strideOf(const Extent &extent) const {
  return isRead(extent) ? shape.channels : lanesOf(groupAt(0));
}

const float *DepthwiseConvolution::rowOf(Ring &ring, const void *data, int64_t sample, int64_t row,
                                         const Group &group) const {
  const Extent &extent = *ring.extent;
  const int64_t start = (sample * extent.rows + row) * extent.pixels * shape.channels + group.first;
  if (isRead(extent))
    return static_cast<const float *>(data) + start;
  const int64_t slot = row % ring.kept;
  float *target = ring.memory + slot * extent.pixels * strideOf(extent);
  int64_t &held = ring.held[static_cast<size_t>(slot)];
  if (held != row && shape.isInteger())
    kernels.widenIntegers(static_cast<const int8_t *>(data) + start, shape.channels, extent.pixels,
                          group.channels, shape.border, target, strideOf(extent));
  else if (held != row)
    kernels.widen[extent.dtype](at(data, start, extent.dtype), shape.channels, extent.pixels,
                                group.channels, target, strideOf(extent));
  held = row;
  return target;
}

void DepthwiseConvolution::widenFilter(Workspace &own, const void *filter, const void *bias,
                                       const Group &group) const {
  const auto index = static_cast<size_t>(group.first / groupChannels);
  if (own.holdsFilter[index])
    return;
  own.holdsFilter[index] = true;
  for (int64_t v = 0; v < group.vectors; ++v) {
    const int64_t lane = v * kernels.lanes, channel = group.first + lane;
    float *packed = own.filter + channel * taps;
    const int64_t channels = std::min(kernels.lanes, group.channels - lane);
    if (!shape.isInteger()) {
      kernels.widen[shape.rhs](at(filter, channel, shape.rhs), shape.channels, taps, channels,
                               packed, kernels.lanes);
      continue;
    }
    kernels.widenIntegers(static_cast<const int8_t *>(filter) + channel, shape.channels, taps,
                          channels, /*border=*/0, packed, kernels.lanes);
    // Images are less by the border, so that what lies outside of them is 0.
    for (int64_t i = 0; i < channels; ++i) {
      float sum = 0;
      for (int64_t tap = 0; tap < taps; ++tap)
        sum += packed[tap * kernels.lanes + i];
      own.bias[channel + i] = sum * static_cast<float>(shape.border);
    }
  }
  if (shape.hasBias)
    kernels.widen[shape.bias](at(bias, group.first, shape.bias), 0, 1, group.channels,
                              own.bias + group.first, 0);
}

// ---- Execution ----------------------------------------------------------------------------------

void DepthwiseConvolution::reserveParts() {
  const auto bytes = alignUp(static_cast<uint64_t>(rowsAtOnce() * to.pixels * shape.channels) *
                             dtypeSize(shape.out));
  reserve(partRows, bytes * team.threads());
  for (size_t slot = 0; slot < workspaces.size(); ++slot)
    workspaces[slot].part = partRows.data() + slot * bytes;
}

void DepthwiseConvolution::run(const void *lhs, const void *rhs, const void *bias,
                               const ConvolutionResult &result) {
  const Call call{lhs, rhs, bias, result};
  const int64_t atOnce = result.kernel ? groups : 1;
  const int64_t count = groups / atOnce * (toFilter ? parts : shape.batch * bands);
  for (Workspace &own : workspaces)
    std::fill(own.holdsFilter.begin(), own.holdsFilter.end(), false);
  team.shareOut(count, team.threads(), [&](Turns &turns) {
    Workspace &own = workspaces[turns.slot()];
    for (int64_t i; turns.take(i);) {
      if (result.kernel) {
        multiplyAndFinishBand(own, call, i / bands, i % bands);
        continue;
      }
      const Group group = groupAt(i % groups);
      if (toFilter)
        correlatePart(own, lhs, rhs, i / groups, group);
      else
        multiplyBand(own, call, i / groups / bands, i / groups % bands, group);
    }
  });
  if (toFilter)
    sumParts(result.values);
}

void DepthwiseConvolution::multiplyAndFinishBand(Workspace &own, const Call &call, int64_t sample,
                                                 int64_t band) const {
  for (int64_t index = 0; index < groups; ++index)
    multiplyBand(own, call, sample, band, groupAt(index));
  if (groups == 1 || requantizes(call.result))
    return; // each row was finished
  const int64_t ofRow = to.pixels * shape.channels;
  const int64_t begin = (sample * to.rows + firstRow(band)) * ofRow;
  call.result.finish(call.result.values ? call.result.at(begin) : own.part, begin,
                     begin + (firstRow(band + 1) - firstRow(band)) * ofRow);
}

// Rows of the result: of the forward convolution, or of the images' cotangent.
void DepthwiseConvolution::multiplyBand(Workspace &own, const Call &call, int64_t sample,
                                        int64_t band, const Group &group) const {
  const ConvolutionResult &result = call.result;
  const bool isWritten = isRead(to) && !shape.relu; // by the sums themselves
  const int64_t ofRow = to.pixels * shape.channels;
  widenFilter(own, call.rhs, call.bias, group);
  std::fill(own.lhs.held.begin(), own.lhs.held.end(), -1);
  for (int64_t row = firstRow(band); row < firstRow(band + 1); ++row) {
    const std::vector<RowTap> &met = rowTaps[static_cast<size_t>(row)];
    for (size_t r = 0; r < met.size(); ++r) {
      own.rows[r] = rowOf(own.lhs, call.lhs, sample, met[r].source, group);
      own.weights[r] =
          own.filter + group.first * taps + met[r].tap * shape.kernel[2] * kernels.lanes;
    }
    const int64_t start = (sample * to.rows + row) * ofRow;
    const int64_t rowOfPart = (row - firstRow(band)) % rowsAtOnce() * ofRow;
    auto *values = const_cast<uint8_t *>(result.values ? result.at(start)
                                                       : at(own.part, rowOfPart, shape.out));
    auto *target = const_cast<uint8_t *>(at(values, group.first, shape.out));
    float *sums = isWritten ? reinterpret_cast<float *>(target) : own.sums;
    const int64_t sumStride = isWritten ? shape.channels : lanesOf(group);
    own.next.clear();
    for (int64_t source : fetchedRows[static_cast<size_t>(row)])
      own.next.push_back(rowOf(own.lhs, call.lhs, sample, source, group));
    const DepthwiseRows rows = {own.rows.data(),
                                own.weights.data(),
                                ssize(met),
                                strideOf(from),
                                taps,
                                sums,
                                sumStride,
                                isWritten && shape.hasBias ? own.bias + group.first : nullptr,
                                own.next.data(),
                                ssize(own.next)};
    for (const DepthwiseStrips &same : cover.strips)
      kernels.multiplyStrips(same.form, same.strips.data(), ssize(same.strips), rows,
                             group.vectors);
    for (const WindowClass &same : cover.others)
      kernels.multiply({same.pixels.data(), same.sources.data(), ssize(same.pixels),
                        same.taps.data(), same.distances.data(), ssize(same.taps)},
                       rows, group.vectors);
    if (requantizes(result)) {
      const RequantizedSums numbers = result.kernel->requantized(shape.channels);
      kernels.requantize(own.sums, sumStride, to.pixels, group.channels, own.bias + group.first,
                         numbers.from((result.first + start) / shape.channels, group.first));
      continue;
    }
    if (shape.isInteger())
      kernels.finishIntegers(own.sums, sumStride, to.pixels, group.channels, own.bias + group.first,
                             reinterpret_cast<int32_t *>(target), shape.channels);
    else if (!isWritten)
      finish(own.sums, sumStride, to.pixels, group.channels,
             shape.hasBias ? own.bias + group.first : nullptr, shape.relu, target, shape.channels);
    if (groups == 1)
      result.finish(values, start, start + ofRow);
  }
}

void DepthwiseConvolution::correlatePart(Workspace &own, const void *lhs, const void *rhs,
                                         int64_t part, const Group &group) const {
  const int64_t total = shape.batch * to.rows;
  float *sums = partSums.floats() + part * taps * padded + group.first;
  for (int64_t tap = 0; tap < taps; ++tap)
    std::fill_n(sums + tap * padded, lanesOf(group), 0.0f);
  int64_t sample = -1;
  for (int64_t i = total * part / parts; i < total * (part + 1) / parts; ++i) {
    if (sample != i / to.rows) {
      sample = i / to.rows;
      std::fill(own.lhs.held.begin(), own.lhs.held.end(), -1);
      own.rhs.held[0] = -1;
    }
    const std::vector<RowTap> &met = rowTaps[static_cast<size_t>(i % to.rows)];
    for (size_t r = 0; r < met.size(); ++r) {
      DepthwiseCorrelation correlation = {};
      correlation.taps = tapsInRow.data();
      correlation.tapCount = shape.kernel[2];
      correlation.step = shape.strides[2];
      correlation.images = rowOf(own.lhs, lhs, sample, met[r].source, group);
      correlation.outputs = rowOf(own.rhs, rhs, sample, i % to.rows, group);
      correlation.imageStride = strideOf(from);
      correlation.outputStride = strideOf(to);
      correlation.sums = sums + met[r].tap * shape.kernel[2] * padded;
      correlation.sumStride = padded;
      // The rows of images behind those that are met now, one with each of these, and the next
      // outputs with the last of them.
      const int64_t behind = met.back().source + 1 + static_cast<int64_t>(r);
      if (static_cast<int64_t>(r) < shape.strides[1] && r + 1 < met.size())
        fetch(correlation, lhs, shape.lhs, (sample * from.rows + behind) * from.pixels,
              shape.strides[2], group);
      else
        fetch(correlation, rhs, shape.rhs, (i + 1) * to.pixels, 1, group);
      kernels.correlate(correlation, group.vectors);
    }
  }
}

void DepthwiseConvolution::fetch(DepthwiseCorrelation &correlation, const void *data,
                                 mpc_rt_dtype_t dtype, int64_t pixel, int64_t step,
                                 const Group &group) const {
  const int64_t bytes = static_cast<int64_t>(dtypeSize(dtype));
  correlation.next = at(data, pixel * shape.channels + group.first, dtype);
  correlation.nextPixelBytes = step * shape.channels * bytes;
  correlation.nextVectorBytes = kernels.lanes * bytes;
}

// Part by part, whoever computed them.
void DepthwiseConvolution::sumParts(void *out) const {
  team.forRange(taps, std::max<int64_t>(1, conversionGrain / (parts * padded)),
                [&](int64_t begin, int64_t end) {
                  float *sums = partSums.floats();
                  for (int64_t part = 1; part < parts; ++part)
                    for (int64_t i = begin * padded; i < end * padded; ++i)
                      sums[i] += sums[part * taps * padded + i];
                  kernels.finish[shape.out](
                      sums + begin * padded, padded, end - begin, shape.channels, nullptr, false,
                      const_cast<uint8_t *>(at(out, begin * shape.channels, shape.out)),
                      shape.channels);
                });
}

} // namespace mpc::rt
