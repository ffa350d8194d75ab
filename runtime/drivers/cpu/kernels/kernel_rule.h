// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row of a table that says whether a micro-kernel of ours or oneDNN computes, and where that was
// measured.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_KERNEL_RULE_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_KERNEL_RULE_H

#include "runtime/drivers/cpu/kernels/cpu_kind.h"
#include "runtime/drivers/cpu/kernels/micro_kernel.h"
#include "runtime/drivers/kernel_reason.h"

namespace mpc::rt {

// Sets of micro-kernels, and of dtypes of operands: both float32, or one of them with 16 bits.
enum KernelSet : uint32_t {
  avx2Kernel = 1,
  avx512Kernels = 2,
  amxKernel = 4,
  sse4Kernel = 8,
  anyKernel = 15
};
enum OperandSet : uint32_t { float32Operands = 1, narrowOperands = 2, anyOperands = 3 };
constexpr uint32_t wideKernels = avx512Kernels | amxKernel, shortKernels = sse4Kernel | avx2Kernel;
enum class Taken { own, library };

inline uint32_t setOf(const MicroKernel &kernel) {
  return &kernel == &sse4Float32   ? sse4Kernel
         : &kernel == &avx2Float32 ? avx2Kernel
         : &kernel == &amxBFloat16 ? amxKernel
                                   : avx512Kernels;
}

template <typename Traits> struct KernelRule {
  uint32_t cpus, kernels, operands;
  bool (*holds)(const Traits &traits);
  Taken taken;
  const char *condition, *measured;
};

// The first row that fits decides.
template <typename Traits, size_t N>
Verdict decide(const KernelRule<Traits> (&rules)[N], CpuKind cpu, const MicroKernel &kernel,
               bool isFloat32, const Traits &traits) {
  const uint32_t operands = isFloat32 ? float32Operands : narrowOperands;
  for (const KernelRule<Traits> &rule : rules)
    if ((rule.cpus & cpu) && (rule.kernels & setOf(kernel)) && (rule.operands & operands) &&
        rule.holds(traits))
      return {rule.taken == Taken::own,
              {rule.condition, rule.measured, /*isBorrowed=*/!(cpu & measuredCpus)}};
  return refused("no rule"); // not reached: the last rows hold always
}

} // namespace mpc::rt

#endif
