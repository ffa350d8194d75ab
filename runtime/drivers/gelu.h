// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gelu in the form with tanh, and its derivative, in float64.
#ifndef MPC_RUNTIME_DRIVERS_GELU_H
#define MPC_RUNTIME_DRIVERS_GELU_H

#include "runtime/drivers/contraction.h"

#include <cmath>

namespace mpc::rt {

// sqrt(2 / pi), and what x^3 is multiplied with.
constexpr double geluScale = 0.7978845608028654, geluCube = 0.044715;

// 0.5 (1 + tanh(u)), where nothing cancels.
inline double geluShareOf(double x) {
  return 1 / (1 + std::exp(-2 * geluScale * (x + geluCube * x * x * x)));
}

inline double geluOf(double x) { return x * geluShareOf(x); }

inline double geluSlopeOf(double x) {
  const double p = geluShareOf(x);
  return p + x * p * (1 - p) * 2 * geluScale * (1 + 3 * geluCube * x * x);
}

// The rows [begin, end) of a product, in which `out` (`kept` where there is one) holds the results:
// gelu or the derivative applied to them.
void applyGelu(const Contraction &shape, const GeluArguments &gelu, void *out, int64_t begin,
               int64_t end) noexcept;

} // namespace mpc::rt

#endif
