// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes over a block of operands or sums by all threads; contractions and convolutions alike.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_ROW_PASSES_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_ROW_PASSES_H

#include "runtime/base/vector_kernels.h"
#include "runtime/threads/thread_team.h"

namespace mpc::rt {

// `from` holds float32, bfloat16 or float16.
void widenElements(ThreadTeam &team, const VectorKernels &kernels, mpc_rt_dtype_t dtype,
                   const void *from, float *to, int64_t count);

// `row` on each row of `sums`, to rows of `out`; `bias` has one number per column, or is null.
void applyToRows(ThreadTeam &team, EpilogueRow row, const float *sums, const float *bias,
                 mpc_rt_dtype_t dtype, void *out, int64_t rows, int64_t columns);

// The same of rows that hold rounded sums already; nothing for no `flags` (vector_kernels.h).
void finishBFloat16Rows(ThreadTeam &team, const VectorKernels &kernels, uint32_t flags,
                        const float *bias, void *out, int64_t rows, int64_t columns);

} // namespace mpc::rt

#endif
