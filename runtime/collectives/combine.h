// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sum, maximum or minimum of two arrays, element by element: one step of a reduction over
// ranks.
#ifndef MPC_RUNTIME_COLLECTIVES_COMBINE_H
#define MPC_RUNTIME_COLLECTIVES_COMBINE_H

#include "mpc-rt/collectives.h"
#include "mpc-rt/dtype.h"

#include <cstddef>
#include <cstdint>

namespace mpc::rt {

// Whether callers may reduce this dtype: float32, float64, int32, int64.
bool canCombine(mpc_rt_dtype_t dtype);

// into[i] = into[i] op other[i], with bfloat16 also sums, which are added in float32 and rounded.
// Sums of integers wrap around; a NaN on either side gives the quiet one. The result has the same
// bits with both sides exchanged.
void combine(mpc_rt_dtype_t dtype, mpc_rt_reduction_t reduction, void *into, const void *other,
             size_t count);

// Elements that change no other ones: 0, or the least or largest number.
void fillNeutral(mpc_rt_dtype_t dtype, mpc_rt_reduction_t reduction, void *data, size_t count);

// to[i] = from[i], rounded to bfloat16.
void roundToBFloat16(const float *from, uint16_t *to, size_t count);
void widenBFloat16(const uint16_t *from, float *to, size_t count);
// Each number becomes its nearest bfloat16.
void keepBFloat16(float *data, size_t count);
// The square root of the squares of what that changes, relative to those of the numbers; 0 where
// some are not finite.
double errorOfBFloat16(const float *data, size_t count);

} // namespace mpc::rt

#endif
