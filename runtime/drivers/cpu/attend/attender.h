// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention on the CPU without the matrix of scores in memory: a block of rows of scores at a time
// stays in the second-level cache between the products (as FlashAttention does with tiles; Dao et
// al., 2022). Rows are whole, so that a softmax is the usual one. The derivative computes the
// scores again.
#ifndef MPC_RUNTIME_DRIVERS_CPU_ATTEND_ATTENDER_H
#define MPC_RUNTIME_DRIVERS_CPU_ATTEND_ATTENDER_H

#include "runtime/base/memory.h"
#include "runtime/base/vector_kernels.h"
#include "runtime/drivers/attention.h"
#include "runtime/drivers/cpu/attend/attention_rows.h"
#include "runtime/drivers/cpu/kernels/micro_kernel.h"
#include "runtime/drivers/kernel_reason.h"
#include "runtime/threads/thread_team.h"

#include <vector>

namespace mpc::rt {

class Attender {
public:
  // `nativeBFloat16`: as oneDNN multiplies it, so that DNNL_MAX_CPU_ISA counts here, too.
  Attender(ThreadTeam &team, int isa, bool nativeBFloat16);

  // Null where loops compute it (attendDirectly): float64, and CPUs without a micro-kernel.
  const char *kernelOf(const Attention &shape) const noexcept;
  // Why: of kernelOf().
  Reason reasonOf(const Attention &shape) const noexcept;
  // The memory for one of these calls.
  void reserveFor(const Attention &shape, bool isGradient);
  // Between begin() and end() of the team.
  void attend(const Attention &shape, const AttentionOperands &operands);
  void attendGradient(const Attention &shape, const AttentionGradientOperands &operands);
  uint64_t bytes() const noexcept;

private:
  const MicroKernel *findKernel(const Attention &shape) const noexcept;

  ThreadTeam &team;
  const VectorKernels &vectors;
  const AttentionRows &rows;
  const MicroKernel *bfloat16, *float32; // null: not here
  std::vector<Buffer> workspaces;        // of a thread each
};

} // namespace mpc::rt

#endif
