// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions as straight-line float32 arithmetic, without calls, branches or fused
// multiply-add. Errors are below 2 units in the last place (docs/numerics.md states each one;
// test/Unit/lib/Conversion/ExpandMath measures them). NaN, infinities, zeros with their signs,
// overflow and underflow are those of libm. Where the CPU flushes denormals, an argument or result
// that is denormal may count as zero.
#ifndef MPC_LIB_CONVERSION_EXPANDMATH_FUNCTIONS_H
#define MPC_LIB_CONVERSION_EXPANDMATH_FUNCTIONS_H

#include "lib/Conversion/ExpandMath/Scalar32.h"

namespace mpc {

Float32 expandExp(Float32 x);
Float32 expandExpM1(Float32 x);
Float32 expandTanh(Float32 x);
Float32 expandErf(Float32 x);
Float32 expandLog(Float32 x);
Float32 expandLog1p(Float32 x);

} // namespace mpc

#endif
