// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One element of a buffer of any floating dtype, float8, int8 or int32 as float64, for loops that
// no library has a kernel for.
#ifndef MPC_RUNTIME_BASE_ELEMENT_H
#define MPC_RUNTIME_BASE_ELEMENT_H

#include "runtime/base/dtype.h"
#include "runtime/base/rounding.h"

namespace mpc::rt {

inline double loadElement(mpc_rt_dtype_t dtype, const void *base, int64_t i) {
  switch (dtype) {
  case MPC_RT_INT8:
    return static_cast<const int8_t *>(base)[i];
  case MPC_RT_INT32:
    return static_cast<const int32_t *>(base)[i];
  case MPC_RT_FLOAT8_E4M3FN:
    return widenFloat8E4M3FN(static_cast<const uint8_t *>(base)[i]);
  case MPC_RT_FLOAT8_E5M2:
    return widenFloat8E5M2(static_cast<const uint8_t *>(base)[i]);
  case MPC_RT_FLOAT64:
    return static_cast<const double *>(base)[i];
  case MPC_RT_FLOAT32:
    return static_cast<const float *>(base)[i];
  case MPC_RT_BFLOAT16:
    return widenBFloat16(static_cast<const uint16_t *>(base)[i]);
  default:
    return widenFloat16(static_cast<const uint16_t *>(base)[i]);
  }
}

// Through float32 first: the contract's sums of narrower types are float32 sums, so the second
// rounding is the contract's own.
inline void storeElement(mpc_rt_dtype_t dtype, void *base, int64_t i, double value) {
  switch (dtype) {
  case MPC_RT_INT8:
    static_cast<int8_t *>(base)[i] = static_cast<int8_t>(value);
    return;
  case MPC_RT_INT32:
    static_cast<int32_t *>(base)[i] = static_cast<int32_t>(value);
    return;
  case MPC_RT_FLOAT8_E4M3FN:
    static_cast<uint8_t *>(base)[i] = roundToFloat8E4M3FN(static_cast<float>(value));
    return;
  case MPC_RT_FLOAT8_E5M2:
    static_cast<uint8_t *>(base)[i] = roundToFloat8E5M2(static_cast<float>(value));
    return;
  case MPC_RT_FLOAT64:
    static_cast<double *>(base)[i] = value;
    return;
  case MPC_RT_FLOAT32:
    static_cast<float *>(base)[i] = static_cast<float>(value);
    return;
  case MPC_RT_BFLOAT16:
    static_cast<uint16_t *>(base)[i] = roundToBFloat16(static_cast<float>(value));
    return;
  default:
    static_cast<uint16_t *>(base)[i] = roundToFloat16(static_cast<float>(value));
  }
}

// The value as the dtype holds it.
inline double roundElement(mpc_rt_dtype_t dtype, double value) {
  double result;
  storeElement(dtype, &result, 0, value);
  return loadElement(dtype, &result, 0);
}

} // namespace mpc::rt

#endif
