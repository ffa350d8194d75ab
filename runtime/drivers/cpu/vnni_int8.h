// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of int8 rows by int8 weights that are kept, on AVX512-VNNI. Exact; sums wrap around.
#ifndef MPC_RUNTIME_DRIVERS_CPU_VNNI_INT8_H
#define MPC_RUNTIME_DRIVERS_CPU_VNNI_INT8_H

#include "runtime/drivers/contraction.h"
#include "runtime/drivers/cpu/thread_team.h"

namespace mpc::rt::vnni {

// Weights [k, n] in the order of use.
uint64_t weightBytes(const Contraction &shape);
void packWeights(ThreadTeam &team, const Contraction &shape, const int8_t *rhs, int8_t *to);

// One batch, lhs not transposed, nothing accumulated. `rowSums`: scratch for m numbers.
void multiply(ThreadTeam &team, const Contraction &shape, const int8_t *lhs, const int8_t *weights,
              int32_t *rowSums, int32_t *out);

} // namespace mpc::rt::vnni

#endif
