// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which micro-kernel multiplies on which CPU. Feature bits tell what runs, not what is fast: what
// stands here was measured (benchmarks/results/micro-kernels.md).
#include "runtime/drivers/cpu/micro_kernel.h"
#include "mpc-rt/device.h"
#include "runtime/base/cpu.h"

#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

namespace mpc::rt {
namespace {

// Linux hands out tile data on request only (Documentation/arch/x86/xstate.rst).
bool mayUseTiles() {
  constexpr long requestPermission = 0x1023, tileData = 18;
  static const bool granted = syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
  return granted;
}

bool has(uint64_t features) { return (cpu().features & features) == features; }

} // namespace

const MicroKernel *bfloat16MicroKernel(int isa) noexcept {
  return isa >= MPC_RT_ISA_X86_64_V4 && has(MPC_RT_FEATURE_AMX_BF16) && mayUseTiles()
             ? &amxBFloat16
             : nullptr;
}

const MicroKernel *float32MicroKernel(int isa) noexcept {
  return isa >= MPC_RT_ISA_X86_64_V4 && has(MPC_RT_FEATURE_AVX512_V4) ? &avx512Float32 : nullptr;
}

} // namespace mpc::rt
