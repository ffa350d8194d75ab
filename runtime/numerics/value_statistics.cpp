// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/numerics/value_statistics.h"
#include "runtime/base/rounding.h"

#include <algorithm>
#include <cmath>

namespace mpc::rt {
namespace {

constexpr uint32_t infinityBits = 0x7f800000u, smallestNormalBits = 0x00800000u;
constexpr int exponentBias = 127;

uint32_t magnitudeOf(float value) { return bitsOf(value) & 0x7fffffffu; }

} // namespace

FormatBounds boundsOf(mpc_rt_dtype_t dtype) noexcept {
  switch (dtype) {
  case MPC_RT_FLOAT16:
    return {0x38800000u, 0x477fe000u}; // 2^-14, 65504
  case MPC_RT_BFLOAT16:
    return bfloat16Bounds;
  case MPC_RT_FLOAT8_E4M3FN:
    return {0x3c800000u, 0x43e00000u}; // 2^-6, 448
  case MPC_RT_FLOAT8_E5M2:
    return {0x38800000u, 0x47600000u}; // 2^-14, 57344
  default:
    return {smallestNormalBits, 0x7f7fffffu};
  }
}

const float *widenElements(const VectorKernels &kernels, mpc_rt_dtype_t dtype, const void *values,
                           uint64_t first, size_t count, float *room) noexcept {
  switch (dtype) {
  case MPC_RT_FLOAT64:
    for (size_t i = 0; i < count; ++i)
      room[i] = static_cast<float>(static_cast<const double *>(values)[first + i]);
    return room;
  case MPC_RT_FLOAT32:
    return static_cast<const float *>(values) + first;
  case MPC_RT_FLOAT8_E4M3FN:
    for (size_t i = 0; i < count; ++i)
      room[i] = widenFloat8E4M3FN(static_cast<const uint8_t *>(values)[first + i]);
    return room;
  case MPC_RT_FLOAT8_E5M2:
    for (size_t i = 0; i < count; ++i)
      room[i] = widenFloat8E5M2(static_cast<const uint8_t *>(values)[first + i]);
    return room;
  case MPC_RT_BFLOAT16:
    kernels.widenBFloat16(static_cast<const uint16_t *>(values) + first, room, count);
    return room;
  default:
    kernels.widenFloat16(static_cast<const uint16_t *>(values) + first, room, count);
    return room;
  }
}

uint64_t &ValueStatistics::binOf(int exponent) {
  const auto bin = static_cast<size_t>(
      std::clamp(exponent - MPC_RT_FIRST_EXPONENT, 0, MPC_RT_EXPONENT_COUNT - 1));
  firstBin = std::min(firstBin, bin);
  endBin = std::max(endBin, bin + 1);
  return exponents[bin];
}

void ValueStatistics::clear() {
  for (size_t bin = firstBin; bin < endBin; ++bin)
    exponents[bin] = 0;
  firstBin = MPC_RT_EXPONENT_COUNT;
  endBin = 0;
  total = {};
  hasRows = false;
}

/// Those of float32's exponent: where each has its highest bit.
void ValueStatistics::addSubnormals(const float *values, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (const uint32_t m = magnitudeOf(values[i]); m && m < smallestNormalBits)
      ++binOf(31 - __builtin_clz(m) - 149);
}

size_t ValueStatistics::add(const StatisticsKernels &kernels, mpc_rt_dtype_t dtype,
                            const float *values, size_t count) {
  BlockStatistics block;
  kernels.count(values, count, boundsOf(dtype), block);
  addBlock(block, count);
  if (block.exponents[0] > block.zero)
    addSubnormals(values, count);
  return block.zero;
}

size_t ValueStatistics::addBFloat16(const StatisticsKernels &kernels, const uint16_t *values,
                                    size_t count) {
  BlockStatistics block;
  kernels.countBFloat16(values, count, block);
  addBlock(block, count);
  if (block.exponents[0] > block.zero)
    for (size_t i = 0; i < count; ++i) {
      const float value = floatOf(uint32_t{values[i]} << 16);
      addSubnormals(&value, 1);
    }
  return block.zero;
}

template <typename Counted>
void ValueStatistics::addCounted(uint64_t count, const Counted &counted) {
  total.count += count;
  total.zero += counted.zero;
  total.subnormal += counted.subnormal;
  total.infinite += counted.infinite;
  total.nan += counted.nan;
  total.saturated += counted.saturated;
  total.sum += counted.sum;
  total.sum_of_squares += counted.sumOfSquares;
  // Both are bits of magnitudes of finite elements; the smallest is of those that are not 0.
  total.max_magnitude =
      std::max(total.max_magnitude, static_cast<double>(floatOf(counted.largest)));
  if (counted.smallest >= infinityBits)
    return;
  const auto magnitude = static_cast<double>(floatOf(counted.smallest));
  total.min_magnitude =
      total.min_magnitude > 0 ? std::min(total.min_magnitude, magnitude) : magnitude;
}

void ValueStatistics::add(const ValueCounts &counts) {
  addCounted(counts.count, counts);
  total.underflow += counts.lost;
  for (int e = 1; e < exponentBias * 2 + 1; ++e)
    if (counts.exponents[e])
      binOf(e - exponentBias) += counts.exponents[e];
  for (int bit = 0; bit < 23; ++bit)
    if (counts.subnormals[bit])
      binOf(bit - 149) += counts.subnormals[bit];
}

void ValueStatistics::addBlock(const BlockStatistics &block, size_t count) {
  addCounted(count, block);
  const uint32_t first = std::max(1u, block.smallest >> 23), last = block.largest >> 23;
  if (first > last)
    return;
  // Bins have float32's exponents, and those of its subnormal numbers.
  static_assert(1 - exponentBias >= MPC_RT_FIRST_EXPONENT &&
                254 - exponentBias < MPC_RT_FIRST_EXPONENT + MPC_RT_EXPONENT_COUNT);
  uint64_t *bin = &binOf(static_cast<int>(first) - exponentBias);
  binOf(static_cast<int>(last) - exponentBias);
  for (uint32_t e = first; e <= last; ++e)
    *bin++ += block.exponents[e];
}

void ValueStatistics::noteRow(int64_t row) {
  if (total.row_count < MPC_RT_MAX_TRACED_ROWS &&
      (total.row_count == 0 || total.rows[total.row_count - 1] != row))
    total.rows[total.row_count++] = row;
}

void ValueStatistics::noteRows(const float *values, const float *kept, uint64_t first, size_t count,
                               uint64_t perRow) {
  for (size_t i = 0; i < count && total.row_count < MPC_RT_MAX_TRACED_ROWS; ++i) {
    const uint32_t m = magnitudeOf(values[i]), t = magnitudeOf(kept[i]);
    if (m < infinityBits || t >= infinityBits)
      continue;
    noteRow(static_cast<int64_t>((first + i) / perRow));
  }
}

void ValueStatistics::compare(const StatisticsKernels &kernels, const float *values,
                              const float *kept, uint64_t first, size_t count, uint64_t perRow) {
  BlockErrors block;
  kernels.compare(values, kept, count, block);
  total.compared += block.compared;
  total.lost += block.lost;
  total.overflowed += block.overflowed;
  total.invalid += block.invalid;
  total.max_error = std::max(total.max_error, block.maxError);
  total.max_relative_error = std::max(total.max_relative_error, block.maxRelativeError);
  total.sum_of_squared_errors += block.sumOfSquares;
  total.kept_sum_of_squares += block.keptSumOfSquares;
  total.product_sum += block.products;
  total.kept_max_magnitude =
      std::max(total.kept_max_magnitude, static_cast<double>(floatOf(block.keptLargest)));
  if (perRow && !hasRows && (block.overflowed || block.invalid))
    noteRows(values, kept, first, count, perRow);
}

void ValueStatistics::add(const ValueStatistics &more) {
  const mpc_rt_traced_value_t &other = more.total;
  for (auto count : {&mpc_rt_traced_value_t::count, &mpc_rt_traced_value_t::zero,
                     &mpc_rt_traced_value_t::underflow, &mpc_rt_traced_value_t::subnormal,
                     &mpc_rt_traced_value_t::infinite, &mpc_rt_traced_value_t::nan,
                     &mpc_rt_traced_value_t::saturated, &mpc_rt_traced_value_t::compared,
                     &mpc_rt_traced_value_t::lost, &mpc_rt_traced_value_t::overflowed,
                     &mpc_rt_traced_value_t::invalid})
    total.*count += other.*count;
  for (auto sum :
       {&mpc_rt_traced_value_t::sum, &mpc_rt_traced_value_t::sum_of_squares,
        &mpc_rt_traced_value_t::sum_of_squared_errors, &mpc_rt_traced_value_t::kept_sum_of_squares,
        &mpc_rt_traced_value_t::product_sum})
    total.*sum += other.*sum;
  for (auto largest :
       {&mpc_rt_traced_value_t::max_magnitude, &mpc_rt_traced_value_t::max_error,
        &mpc_rt_traced_value_t::max_relative_error, &mpc_rt_traced_value_t::kept_max_magnitude})
    total.*largest = std::max(total.*largest, other.*largest);
  if (other.min_magnitude > 0)
    total.min_magnitude = total.min_magnitude > 0
                              ? std::min(total.min_magnitude, other.min_magnitude)
                              : other.min_magnitude;
  for (size_t bin = more.firstBin; bin < more.endBin; ++bin)
    exponents[bin] += more.exponents[bin];
  firstBin = std::min(firstBin, more.firstBin);
  endBin = std::max(endBin, more.endBin);
  for (uint32_t i = 0; i < other.row_count && !hasRows; ++i)
    noteRow(other.rows[i]);
}

mpc_rt_traced_value_t ValueStatistics::result() const {
  mpc_rt_traced_value_t value = total;
  value.struct_size = sizeof value;
  value.reported = total.count > 0;
  value.exponents = exponents.data();
  return value;
}

} // namespace mpc::rt
