// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Initializers by kind and dtype.
#include "runtime/initializers/initializers.h"
#include "runtime/base/dtype.h"
#include "runtime/base/rounding.h"
#include "runtime/base/status.h"

#include <cmath>
#include <cstring>
#include <vector>

namespace mpc::rt {
namespace {

// An integer variable cannot hold every number: it takes the nearest one of int64, 0 for NaN.
// Narrower ones take the low bits of that, as casts of integers do.
int64_t toInteger(double value) {
  if (value >= -0x1p63 && value < 0x1p63)
    return static_cast<int64_t>(value);
  return value >= 0x1p63 ? INT64_MAX : value < 0 ? INT64_MIN : 0;
}

void store(mpc_rt_dtype_t dtype, void *data, uint64_t i, double value) {
  switch (dtype) {
  case MPC_RT_FLOAT32:
    static_cast<float *>(data)[i] = static_cast<float>(value);
    return;
  case MPC_RT_BFLOAT16:
    static_cast<uint16_t *>(data)[i] = roundToBFloat16(static_cast<float>(value));
    return;
  case MPC_RT_FLOAT16:
    static_cast<uint16_t *>(data)[i] = roundToFloat16(static_cast<float>(value));
    return;
  case MPC_RT_FLOAT64:
    static_cast<double *>(data)[i] = value;
    return;
  case MPC_RT_BOOL:
    static_cast<uint8_t *>(data)[i] = value != 0;
    return;
  case MPC_RT_INT8:
  case MPC_RT_UINT8:
    static_cast<uint8_t *>(data)[i] = static_cast<uint8_t>(toInteger(value));
    return;
  case MPC_RT_INT16:
  case MPC_RT_UINT16:
    static_cast<uint16_t *>(data)[i] = static_cast<uint16_t>(toInteger(value));
    return;
  case MPC_RT_INT32:
  case MPC_RT_UINT32:
    static_cast<uint32_t *>(data)[i] = static_cast<uint32_t>(toInteger(value));
    return;
  case MPC_RT_INT64:
    static_cast<int64_t *>(data)[i] = toInteger(value);
    return;
  case MPC_RT_UINT64:
    static_cast<uint64_t *>(data)[i] = value >= 0x1p63 && value < 0x1p64
                                           ? static_cast<uint64_t>(value)
                                           : static_cast<uint64_t>(toInteger(value));
    return;
  }
}

constexpr int64_t grain = 4096;

template <typename Value>
void fill(mpc_rt_dtype_t dtype, void *data, uint64_t count, ThreadTeam &team, const Value &value) {
  team.forRange(static_cast<int64_t>(count), grain, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<uint64_t>(begin); i < static_cast<uint64_t>(end); ++i)
      store(dtype, data, i, value(i));
  });
}

// Most weights start from this: a block of the generator gives four elements.
void fillUniform(const mpc_rt_variable_info_t &v, uint64_t seed, ThreadTeam &team, void *data,
                 uint64_t count) {
  const auto low = static_cast<float>(v.init_a), high = static_cast<float>(v.init_b);
  // The product may round up to the excluded end.
  const float highest = std::nextafter(high, low);
  team.forRange(static_cast<int64_t>((count + 3) / 4), grain / 4, [&](int64_t begin, int64_t end) {
    for (auto block = static_cast<uint64_t>(begin); block < static_cast<uint64_t>(end); ++block) {
      float values[4];
      standardUniforms(seed, v.init_stream, block, values);
      for (uint64_t lane = 0; lane < 4 && 4 * block + lane < count; ++lane) {
        float value = low + values[lane] * (high - low);
        store(v.tensor.dtype, data, 4 * block + lane,
              static_cast<double>(value < high ? value : highest));
      }
    }
  });
}

double truncatedNormal(const mpc_rt_variable_info_t &v, uint64_t seed, uint64_t i) {
  double value = 0;
  for (uint32_t attempt = 0; attempt < 1000; ++attempt) { // fails once in 10^1340
    value = standardNormal(seed, v.init_stream, i, attempt);
    if (std::fabs(value) <= 2.0)
      break;
  }
  return v.init_a + v.init_b * value;
}

void fillMatrix(const mpc_rt_variable_info_t &v, uint64_t seed, ThreadTeam &team, void *data,
                uint64_t count) {
  auto columns = v.tensor.dims[v.tensor.rank - 1];
  auto rows = static_cast<int64_t>(count) / columns;
  if (v.initializer == MPC_RT_INIT_IDENTITY) {
    fill(v.tensor.dtype, data, count, team, [&](uint64_t i) {
      auto position = static_cast<int64_t>(i);
      return position / columns == position % columns ? v.init_a : 0.0;
    });
    return;
  }
  std::vector<double> matrix(count);
  fillOrthogonal(matrix.data(), rows, columns, v.init_a, seed, v.init_stream, team);
  fill(v.tensor.dtype, data, count, team, [&](uint64_t i) { return matrix[i]; });
}

} // namespace

mpc_rt_status_t initializeVariable(const mpc_rt_variable_info_t &v, uint64_t seed, ThreadTeam &team,
                                   void *data) {
  uint64_t count = 0;
  countElements(v.tensor.dims, v.tensor.rank, count);
  if (count == 0)
    return MPC_RT_OK;
  auto dtype = v.tensor.dtype;
  switch (v.initializer) {
  case MPC_RT_INIT_ZEROS:
    std::memset(data, 0, count * dtypeSize(dtype));
    return MPC_RT_OK;
  case MPC_RT_INIT_ONES:
    fill(dtype, data, count, team, [](uint64_t) { return 1.0; });
    return MPC_RT_OK;
  case MPC_RT_INIT_CONSTANT:
    fill(dtype, data, count, team, [&](uint64_t) { return v.init_a; });
    return MPC_RT_OK;
  case MPC_RT_INIT_UNIFORM:
    fillUniform(v, seed, team, data, count);
    return MPC_RT_OK;
  case MPC_RT_INIT_NORMAL:
    fill(dtype, data, count, team, [&](uint64_t i) {
      return v.init_a + v.init_b * standardNormal(seed, v.init_stream, i, 0);
    });
    return MPC_RT_OK;
  case MPC_RT_INIT_TRUNCATED_NORMAL:
    fill(dtype, data, count, team, [&](uint64_t i) { return truncatedNormal(v, seed, i); });
    return MPC_RT_OK;
  case MPC_RT_INIT_UNIT_FORGET: {
    const uint64_t width = v.init_b != 0 ? count / 2 : count, before = count - width;
    fill(dtype, data, count, team, [&](uint64_t i) {
      return i >= before + width / 4 && i < before + width / 2 ? 1.0 : v.init_a;
    });
    return MPC_RT_OK;
  }
  case MPC_RT_INIT_FOURIER_COSINE:
  case MPC_RT_INIT_FOURIER_SINE: {
    std::vector<float> kernel(count);
    if (!fillFourier(v, kernel.data()))
      return fail(
          MPC_RT_DATA_LOSS,
          "%s: an initializer of a Fourier transform needs the shape [frame, 1, bins] and a "
          "known window; compile the model again",
          v.tensor.name);
    fill(dtype, data, count, team, [&](uint64_t i) { return static_cast<double>(kernel[i]); });
    return MPC_RT_OK;
  }
  case MPC_RT_INIT_ORTHOGONAL:
  case MPC_RT_INIT_IDENTITY:
    if (v.tensor.rank < 2)
      return fail(MPC_RT_DATA_LOSS,
                  "%s: an orthogonal or identity initializer needs rank 2 or more, not %u; compile "
                  "the model again",
                  v.tensor.name, v.tensor.rank);
    fillMatrix(v, seed, team, data, count);
    return MPC_RT_OK;
  }
  return fail(MPC_RT_DATA_LOSS, "%s: unknown initializer %u", v.tensor.name, v.initializer);
}

} // namespace mpc::rt
