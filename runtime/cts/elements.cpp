// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fills buffers with elements of any floating dtype, int8 and int32, and compares them.
#include "runtime/cts/elements.h"
#include "runtime/base/philox.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace mpc::rt::cts {

void fill(std::vector<uint8_t> &data, mpc_rt_dtype_t dtype, int64_t count, uint64_t seed,
          uint32_t stream, uint32_t most, double scale) {
  const size_t size = dtypeSize(dtype);
  data.resize(static_cast<size_t>(count) * size);
  const uint32_t choices = 2 * most + 1;
  std::vector<uint8_t> values(choices * size);
  for (uint32_t i = 0; i < choices; ++i)
    storeElement(dtype, values.data(), i, (static_cast<double>(i) - most) * scale);
  constexpr int64_t words = 4; // of a block
  for (int64_t begin = 0; begin < count; begin += words) {
    const PhiloxBlock block = philox({{static_cast<uint32_t>(begin / words), stream, 0, 0}},
                                     static_cast<uint32_t>(seed), 0);
    for (int64_t i = begin; i < std::min(begin + words, count); ++i)
      std::memcpy(&data[static_cast<size_t>(i) * size],
                  &values[block.word[i - begin] % choices * size], size);
  }
}

namespace {
template <mpc_rt_dtype_t dtype>
void widenAll(const std::vector<uint8_t> &data, std::vector<double> &result) {
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = loadElement(dtype, data.data(), static_cast<int64_t>(i));
}
} // namespace

std::vector<double> widened(mpc_rt_dtype_t dtype, const std::vector<uint8_t> &data) {
  std::vector<double> result(data.size() / dtypeSize(dtype));
  switch (dtype) { // once, in place of once an element
  case MPC_RT_FLOAT32:
    widenAll<MPC_RT_FLOAT32>(data, result);
    break;
  case MPC_RT_FLOAT64:
    widenAll<MPC_RT_FLOAT64>(data, result);
    break;
  case MPC_RT_BFLOAT16:
    widenAll<MPC_RT_BFLOAT16>(data, result);
    break;
  case MPC_RT_FLOAT16:
    widenAll<MPC_RT_FLOAT16>(data, result);
    break;
  default:
    for (size_t i = 0; i < result.size(); ++i)
      result[i] = loadElement(dtype, data.data(), static_cast<int64_t>(i));
  }
  return result;
}

std::vector<double> transposed(const std::vector<double> &matrices, int64_t batch, int64_t rows,
                               int64_t columns) {
  std::vector<double> result(matrices.size());
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column)
        result[static_cast<size_t>((b * columns + column) * rows + row)] =
            matrices[static_cast<size_t>((b * rows + row) * columns + column)];
  return result;
}

std::string firstDifference(const std::string &what, mpc_rt_dtype_t dtype, const void *wanted,
                            const void *got, int64_t count) {
  if (std::memcmp(wanted, got, static_cast<size_t>(count) * dtypeSize(dtype)) == 0)
    return "";
  for (int64_t i = 0; i < count; ++i) {
    double want = loadElement(dtype, wanted, i), have = loadElement(dtype, got, i);
    if (want != have && !(std::isnan(want) && std::isnan(have)))
      return what + ": element " + std::to_string(i) + " is " + std::to_string(have) +
             ", expected " + std::to_string(want);
  }
  return "";
}

} // namespace mpc::rt::cts
