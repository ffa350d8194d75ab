// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts about element types, from the one table in mpc-rt/dtype.inc.
#ifndef MPC_RUNTIME_BASE_DTYPE_H
#define MPC_RUNTIME_BASE_DTYPE_H

#include "mpc-rt/dtype.h"

namespace mpc::rt {

// 0 when unknown.
constexpr size_t dtypeSize(mpc_rt_dtype_t dtype) noexcept {
  switch (dtype) {
#define MPC_RT_DTYPE(name, value, bytes, keras, mlir, safetensors, numpy)                          \
  case value:                                                                                      \
    return bytes;
#include "mpc-rt/dtype.inc"
#undef MPC_RT_DTYPE
  case MPC_RT_FLOAT8_E4M3FN:
  case MPC_RT_FLOAT8_E5M2:
    return 1;
  }
  return 0;
}
const char *dtypeName(mpc_rt_dtype_t dtype) noexcept; // Keras's name
bool isFloating(mpc_rt_dtype_t dtype) noexcept;
bool isFloat8(mpc_rt_dtype_t dtype) noexcept; // operands of contractions alone
// Whether variables, inputs and outputs may have it.
inline bool isKnown(mpc_rt_dtype_t dtype) noexcept {
  return dtypeSize(dtype) != 0 && !isFloat8(dtype);
}

// Elements of a shape; false on a negative extent or overflow.
bool countElements(const int64_t *dims, uint32_t rank, uint64_t &count) noexcept;

} // namespace mpc::rt

#endif
