// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element type facts.
#include "runtime/base/dtype.h"
#include "mpc-rt/model.h"

namespace mpc::rt {

const char *dtypeName(mpc_rt_dtype_t dtype) noexcept {
  switch (dtype) {
#define MPC_RT_DTYPE(name, value, bytes, keras, mlir, safetensors, numpy)                          \
  case value:                                                                                      \
    return keras;
#include "mpc-rt/dtype.inc"
#undef MPC_RT_DTYPE
  case MPC_RT_FLOAT8_E4M3FN:
    return "float8_e4m3fn";
  case MPC_RT_FLOAT8_E5M2:
    return "float8_e5m2";
  }
  return "unknown";
}

bool isFloating(mpc_rt_dtype_t dtype) noexcept { return dtype <= MPC_RT_FLOAT64; }

bool isFloat8(mpc_rt_dtype_t dtype) noexcept {
  return dtype == MPC_RT_FLOAT8_E4M3FN || dtype == MPC_RT_FLOAT8_E5M2;
}

bool countElements(const int64_t *dims, uint32_t rank, uint64_t &count) noexcept {
  uint64_t product = 1;
  for (uint32_t i = 0; i < rank; ++i)
    if (dims[i] < 0 || __builtin_mul_overflow(product, static_cast<uint64_t>(dims[i]), &product))
      return false;
  count = product;
  return true;
}

} // namespace mpc::rt

extern "C" size_t mpc_rt_dtype_size(mpc_rt_dtype_t dtype) { return mpc::rt::dtypeSize(dtype); }
extern "C" const char *mpc_rt_dtype_name(mpc_rt_dtype_t dtype) { return mpc::rt::dtypeName(dtype); }
