// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vectors of float32, for files that are compiled once per ISA level (MPC_ISA_LEVEL), each of which
// has copies of its own.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_FLOAT_VECTORS_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_FLOAT_VECTORS_H

#include <stdint.h>

namespace mpc::rt {
namespace {

constexpr int64_t lanes = MPC_ISA_LEVEL >= 4 ? 16 : MPC_ISA_LEVEL == 3 ? 8 : 4;

using Vector = float __attribute__((vector_size(lanes * sizeof(float))));

inline Vector load(const float *from) {
  Vector value;
  __builtin_memcpy(&value, from, sizeof(value));
  return value;
}

inline void store(Vector value, float *to) { __builtin_memcpy(to, &value, sizeof(value)); }

inline Vector multiplyAdd(Vector a, Vector b, Vector sum) {
#if MPC_ISA_LEVEL >= 3
  return __builtin_elementwise_fma(a, b, sum);
#else
  return sum + a * b;
#endif
}

} // namespace
} // namespace mpc::rt

#endif
