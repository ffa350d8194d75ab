// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of int8 rows by int8 weights that are kept. Exact; sums wrap around.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_INT8_KERNEL_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_INT8_KERNEL_H

#include "runtime/drivers/contraction.h"
#include "runtime/threads/thread_team.h"

namespace mpc::rt {

// One batch, lhs not transposed, k > 0, nothing accumulated.
struct Int8Kernel {
  const char *name;
  // Weights [k, n] in the order of use.
  uint64_t (*weightBytes)(const Contraction &shape);
  void (*packWeights)(ThreadTeam &team, const Contraction &shape, const int8_t *rhs, int8_t *to);
  // The size of the memory that multiply() writes to beside the result.
  uint64_t (*scratchBytes)(const Contraction &shape);
  void (*multiply)(ThreadTeam &team, const Contraction &shape, const int8_t *lhs,
                   const int8_t *weights, void *scratch, int32_t *out);
  // With fewer columns and many rows oneDNN's kernel is faster.
  int64_t fewestColumns;
};

extern const Int8Kernel vnniInt8, amxInt8;

// The kernel for this CPU, of those up to `isa`; null where there is none.
const Int8Kernel *int8Kernel(int isa) noexcept;

// A loop on any CPU, for any call: exact, sums wrap around. `avx2`: the CPU has it.
void contractInt8(ThreadTeam &team, bool avx2, const Contraction &shape, const int8_t *lhs,
                  const int8_t *rhs, int32_t *out);

} // namespace mpc::rt

#endif
