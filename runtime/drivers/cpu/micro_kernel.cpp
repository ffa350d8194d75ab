// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which micro-kernel multiplies on which CPU. Feature bits tell what runs, not what is fast: what
// stands here was measured (benchmarks/contractions).
#include "runtime/drivers/cpu/micro_kernel.h"
#include "mpc-rt/device.h"
#include "runtime/base/cpu.h"
#include "runtime/drivers/contraction.h"

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
  return isa >= MPC_RT_ISA_X86_64_V4 && has(MPC_RT_FEATURE_AMX_BF16) && mayUseTiles() ? &amxBFloat16
                                                                                      : nullptr;
}

// On AMD's CPUs oneDNN reaches 91 % of what they can do and more; on Intel's 70 % (Granite Rapids).
const MicroKernel *float32MicroKernel(int isa) noexcept {
  const bool intel = std::strncmp(cpu().model, "Intel", 5) == 0;
  return isa >= MPC_RT_ISA_X86_64_V4 && has(MPC_RT_FEATURE_AVX512_V4) && intel ? &avx512Float32
                                                                               : nullptr;
}

bool isWorthwhile(const MicroKernel &kernel, const Contraction &c, bool rhsKept) noexcept {
  // Below, one call of oneDNN costs less than the forks.
  constexpr int64_t fewestProducts = 1 << 21;
  if (c.batch * c.m * c.n * c.k < fewestProducts || c.n < kernel.columns / 2)
    return false;
  const bool single = c.batch == 1;
  // oneDNN reads lhs where it lies, unless it has to be transposed or widened.
  const bool lhsAsItLies = !c.transposeLhs;
  if (&kernel == &amxBFloat16) {
    if (rhsKept && c.m <= kernel.rows / 2)
      return false; // half of each tile would be zeros
    // Packed rows of lhs that only a few columns use.
    return !(single && lhsAsItLies && c.m > kernel.blockRows && c.n < kernel.blockColumns);
  }
  if (c.lhs != MPC_RT_FLOAT32 || c.rhs != MPC_RT_FLOAT32)
    return true;
  // A small product is over before oneDNN's threads, which are not ours, are awake.
  constexpr int64_t smallProducts = 1 << 24;
  if (single && !rhsKept && c.n >= kernel.columns && c.m * c.n * c.k <= smallProducts)
    return true;
  // What is left is the packing: ours of rhs is done on the way when there is one block of rows.
  return single && c.n >= kernel.columns &&
         (!lhsAsItLies || (!rhsKept && c.m <= kernel.blockRows && c.n >= kernel.blockColumns));
}

} // namespace mpc::rt
