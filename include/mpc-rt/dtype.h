// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/* Element types of the runtime ABI. */
#ifndef MPC_RT_DTYPE_H
#define MPC_RT_DTYPE_H

#include <stddef.h>
#include <stdint.h>

typedef uint32_t mpc_rt_dtype_t;

enum {
#define MPC_RT_DTYPE(name, value, bytes, keras, mlir, safetensors, numpy) MPC_RT_##name = value,
#include "mpc-rt/dtype.inc"
#undef MPC_RT_DTYPE
  /* Operands of contractions alone: no variable, input or output. Four bits of exponent and three
   * of fraction, finite but for NaN; and five and two, as in float16. */
  MPC_RT_FLOAT8_E4M3FN = 32,
  MPC_RT_FLOAT8_E5M2 = 33
};

#endif
