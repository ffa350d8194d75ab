// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts about element types, from the one table in mpc-rt/dtype.inc.
#ifndef MPC_RUNTIME_BASE_DTYPE_H
#define MPC_RUNTIME_BASE_DTYPE_H

#include "mpc-rt/dtype.h"

namespace mpc::rt {

size_t dtypeSize(mpc_rt_dtype_t dtype) noexcept;      // 0 when unknown
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
