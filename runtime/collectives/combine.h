// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sum, maximum or minimum of two arrays, element by element: one step of a reduction over
// ranks.
#ifndef MPC_RUNTIME_COLLECTIVES_COMBINE_H
#define MPC_RUNTIME_COLLECTIVES_COMBINE_H

#include "mpc-rt/collectives.h"
#include "mpc-rt/dtype.h"

#include <cstddef>

namespace mpc::rt {

// Whether `combine` has this dtype: float32, float64, int32, int64.
bool canCombine(mpc_rt_dtype_t dtype);

// into[i] = into[i] op other[i]. Sums of integers wrap around; a NaN on either side gives the quiet
// one. The result has the same bits with both sides exchanged.
void combine(mpc_rt_dtype_t dtype, mpc_rt_reduction_t reduction, void *into, const void *other,
             size_t count);

// Elements that change no other ones: 0, or the least or largest number.
void fillNeutral(mpc_rt_dtype_t dtype, mpc_rt_reduction_t reduction, void *data, size_t count);

} // namespace mpc::rt

#endif
