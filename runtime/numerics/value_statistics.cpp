// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/numerics/value_statistics.h"
#include "runtime/base/rounding.h"

#include <algorithm>
#include <cmath>

namespace mpc::rt {
namespace {

constexpr uint32_t infinityBits = 0x7f800000u, smallestNormalBits = 0x00800000u;
constexpr int exponentBias = 127;

FormatBounds boundsOf(mpc_rt_dtype_t dtype) {
  switch (dtype) {
  case MPC_RT_FLOAT16:
    return {0x38800000u, 0x477fe000u}; // 2^-14, 65504
  case MPC_RT_BFLOAT16:
    return bfloat16Bounds;
  default:
    return {smallestNormalBits, 0x7f7fffffu};
  }
}

uint32_t magnitudeOf(float value) { return bitsOf(value) & 0x7fffffffu; }

uint64_t &binOf(std::array<uint64_t, MPC_RT_EXPONENT_COUNT> &exponents, int exponent) {
  const int bin = std::clamp(exponent - MPC_RT_FIRST_EXPONENT, 0, MPC_RT_EXPONENT_COUNT - 1);
  return exponents[static_cast<size_t>(bin)];
}

} // namespace

const float *widenElements(const VectorKernels &kernels, mpc_rt_dtype_t dtype, const void *values,
                           uint64_t first, size_t count, float *room) noexcept {
  switch (dtype) {
  case MPC_RT_FLOAT64:
    for (size_t i = 0; i < count; ++i)
      room[i] = static_cast<float>(static_cast<const double *>(values)[first + i]);
    return room;
  case MPC_RT_FLOAT32:
    return static_cast<const float *>(values) + first;
  case MPC_RT_BFLOAT16:
    kernels.widenBFloat16(static_cast<const uint16_t *>(values) + first, room, count);
    return room;
  default:
    kernels.widenFloat16(static_cast<const uint16_t *>(values) + first, room, count);
    return room;
  }
}

/// Those of float32's exponent: where each has its highest bit.
void ValueStatistics::addSubnormals(const float *values, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (const uint32_t m = magnitudeOf(values[i]); m && m < smallestNormalBits)
      ++binOf(exponents, 31 - __builtin_clz(m) - 149);
}

void ValueStatistics::add(const StatisticsKernels &kernels, mpc_rt_dtype_t dtype,
                          const float *values, size_t count) {
  BlockStatistics block;
  kernels.count(values, count, boundsOf(dtype), block);
  addBlock(block, count);
  if (block.exponents[0] > block.zero)
    addSubnormals(values, count);
}

void ValueStatistics::addBFloat16(const StatisticsKernels &kernels, const uint16_t *values,
                                  size_t count) {
  BlockStatistics block;
  kernels.countBFloat16(values, count, block);
  addBlock(block, count);
  if (block.exponents[0] > block.zero)
    for (size_t i = 0; i < count; ++i) {
      const float value = floatOf(uint32_t{values[i]} << 16);
      addSubnormals(&value, 1);
    }
}

void ValueStatistics::addBlock(const BlockStatistics &block, size_t count) {
  total.count += count;
  total.zero += block.zero;
  total.subnormal += block.subnormal;
  total.infinite += block.infinite;
  total.nan += block.nan;
  total.saturated += block.saturated;
  total.sum += block.sum;
  total.sum_of_squares += block.sumOfSquares;
  total.max_magnitude = std::max(total.max_magnitude, static_cast<double>(floatOf(block.largest)));
  if (block.smallest < infinityBits) {
    const auto smallest = static_cast<double>(floatOf(block.smallest));
    total.min_magnitude =
        total.min_magnitude > 0 ? std::min(total.min_magnitude, smallest) : smallest;
  }
  const uint32_t first = std::max(1u, block.smallest >> 23), last = block.largest >> 23;
  for (uint32_t e = first; e <= last; ++e)
    if (block.exponents[e])
      binOf(exponents, static_cast<int>(e) - exponentBias) += block.exponents[e];
}

void ValueStatistics::addUnderflow(const float *values, const float *before, size_t count) {
  for (size_t i = 0; i < count; ++i)
    total.underflow += magnitudeOf(values[i]) == 0 && magnitudeOf(before[i]) != 0;
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
  for (size_t i = 0; i < exponents.size(); ++i)
    exponents[i] += more.exponents[i];
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
