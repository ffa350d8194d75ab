// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a micro-kernel or oneDNN multiplies: one table of what was measured.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONTRACT_CONTRACTION_RULES_H
#define MPC_RUNTIME_DRIVERS_CPU_CONTRACT_CONTRACTION_RULES_H

#include "runtime/drivers/contraction.h"
#include "runtime/drivers/cpu/kernels/cpu_kind.h"
#include "runtime/drivers/cpu/kernels/micro_kernel.h"
#include "runtime/drivers/kernel_reason.h"

namespace mpc::rt {

// The properties of a contraction that the rules look at.
struct ContractionTraits {
  const MicroKernel &kernel;
  const Contraction &shape;
  bool rhsKept;  // both have rhs packed already
  bool launches; // a kernel runs on the result, which oneDNN writes to memory first

  int64_t products() const { return shape.batch * shape.m * shape.n * shape.k; }
};

// Whether the micro-kernel is faster than oneDNN on such a CPU.
Verdict isWorthwhile(CpuKind cpu, const ContractionTraits &traits) noexcept;

// The same of a product of a loop that threads share by rows, if isWorthwhile() says no.
Verdict isWorthwhileByRows(const MicroKernel &kernel, const Contraction &shape) noexcept;

} // namespace mpc::rt

#endif
