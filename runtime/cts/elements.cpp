// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads, stores, fills and compares elements of any floating dtype, int8 and int32.
#include "runtime/cts/elements.h"
#include "runtime/base/dtype.h"
#include "runtime/base/philox.h"
#include "runtime/base/rounding.h"

#include <cmath>

namespace mpc::rt::cts {

double loadElement(mpc_rt_dtype_t dtype, const void *data, int64_t i) {
  switch (dtype) {
  case MPC_RT_INT8:
    return static_cast<double>(static_cast<const int8_t *>(data)[i]);
  case MPC_RT_INT32:
    return static_cast<double>(static_cast<const int32_t *>(data)[i]);
  case MPC_RT_FLOAT64:
    return static_cast<const double *>(data)[i];
  case MPC_RT_FLOAT32:
    return static_cast<double>(static_cast<const float *>(data)[i]);
  case MPC_RT_BFLOAT16:
    return static_cast<double>(widenBFloat16(static_cast<const uint16_t *>(data)[i]));
  default:
    return static_cast<double>(widenFloat16(static_cast<const uint16_t *>(data)[i]));
  }
}

void storeElement(mpc_rt_dtype_t dtype, void *data, int64_t i, double value) {
  switch (dtype) {
  case MPC_RT_INT8:
    static_cast<int8_t *>(data)[i] = static_cast<int8_t>(value);
    return;
  case MPC_RT_INT32:
    static_cast<int32_t *>(data)[i] = static_cast<int32_t>(value);
    return;
  case MPC_RT_FLOAT64:
    static_cast<double *>(data)[i] = value;
    return;
  case MPC_RT_FLOAT32:
    static_cast<float *>(data)[i] = static_cast<float>(value);
    return;
  case MPC_RT_BFLOAT16:
    static_cast<uint16_t *>(data)[i] = roundToBFloat16(static_cast<float>(value));
    return;
  default:
    static_cast<uint16_t *>(data)[i] = roundToFloat16(static_cast<float>(value));
  }
}

double roundTo(mpc_rt_dtype_t dtype, double value) {
  uint8_t bytes[8];
  storeElement(dtype, bytes, 0, value);
  return loadElement(dtype, bytes, 0);
}

void fill(std::vector<uint8_t> &data, mpc_rt_dtype_t dtype, int64_t count, uint64_t seed,
          uint32_t stream, uint32_t most, double scale) {
  data.resize(static_cast<size_t>(count) * dtypeSize(dtype));
  for (int64_t i = 0; i < count; ++i) {
    PhiloxBlock block =
        philox({{static_cast<uint32_t>(i), stream, 0, 0}}, static_cast<uint32_t>(seed), 0);
    double integer = static_cast<double>(block.word[0] % (2 * most + 1)) - most;
    storeElement(dtype, data.data(), i, integer * scale);
  }
}

std::string firstDifference(const std::string &what, mpc_rt_dtype_t dtype, const void *wanted,
                            const void *got, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    double want = loadElement(dtype, wanted, i), have = loadElement(dtype, got, i);
    if (want != have && !(std::isnan(want) && std::isnan(have)))
      return what + ": element " + std::to_string(i) + " is " + std::to_string(have) +
             ", expected " + std::to_string(want);
  }
  return "";
}

} // namespace mpc::rt::cts
