// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which products cuBLASLt multiplies, stated once: the CUDA driver asks it of each call, and the
// compiler whether a model needs a kernel for the others.
#ifndef MPC_RUNTIME_RULES_BLAS_PRODUCTS_H
#define MPC_RUNTIME_RULES_BLAS_PRODUCTS_H

#include "mpc-rt/dtype.h"

#include <cstdint>

namespace mpc::rules {

// A row-major product [m, k] x [k, n], and what its call has beside it.
struct BlasProduct {
  mpc_rt_dtype_t lhs = 0, rhs = 0, out = 0;
  mpc_rt_dtype_t bias = 0; // that of the result where there is none
  int64_t n = 0, k = 0;
  bool transposeLhs = false, transposeRhs = false, accumulate = false, relu = false;
  bool hasBias = false;

  static bool isFloating(mpc_rt_dtype_t dtype) {
    return dtype == MPC_RT_FLOAT32 || dtype == MPC_RT_FLOAT64 || dtype == MPC_RT_FLOAT16 ||
           dtype == MPC_RT_BFLOAT16;
  }
  static bool isFloat8(mpc_rt_dtype_t dtype) {
    return dtype == MPC_RT_FLOAT8_E4M3FN || dtype == MPC_RT_FLOAT8_E5M2;
  }

  bool isOfFloats() const {
    return isFloating(lhs) && isFloating(out) && lhs == rhs && bias == out &&
           (lhs == out || (out == MPC_RT_FLOAT32 && lhs != MPC_RT_FLOAT64));
  }
  // cuBLAS guide, cublasLtMatmul(), on int8 into int32: only "TN", extents and leading dimensions
  // that are multiples of 4. mpc-pad-dims makes them multiples of 16.
  bool isOfIntegers() const {
    return lhs == MPC_RT_INT8 && rhs == MPC_RT_INT8 && out == MPC_RT_INT32 && transposeRhs &&
           !transposeLhs && k % 4 == 0 && n % 4 == 0 && !hasBias && !relu && !accumulate;
  }
  // The same guide, "to use FP8 kernels": "TN" on compute capability 8.9, 9.0 and 12.x, rows of
  // multiples of 16 bytes. The columns of the row-major left operand and of the result are free.
  bool isOfFloat8() const {
    return isFloat8(lhs) && isFloat8(rhs) && out == MPC_RT_FLOAT32 && transposeRhs &&
           !transposeLhs && k % 16 == 0 && n % 16 == 0;
  }
  bool isTaken() const {
    const bool hasFloats = isOfFloats() && !(accumulate && (relu || hasBias));
    return k != 0 && (hasFloats || isOfIntegers() || isOfFloat8());
  }
};

} // namespace mpc::rules

#endif
