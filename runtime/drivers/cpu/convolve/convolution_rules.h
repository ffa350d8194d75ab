// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a micro-kernel or oneDNN convolves, and how the micro-kernel does: tables of what was
// measured.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_CONVOLUTION_RULES_H
#define MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_CONVOLUTION_RULES_H

#include "runtime/drivers/convolution.h"
#include "runtime/drivers/cpu/kernels/cpu_kind.h"
#include "runtime/drivers/cpu/kernels/micro_kernel.h"
#include "runtime/drivers/kernel_reason.h"

namespace mpc::rt {

// Whether the micro-kernel is faster than oneDNN on such a CPU. `widens`: oneDNN would compute the
// convolution in float32, whatever its operands are.
Verdict isWorthwhile(CpuKind cpu, const MicroKernel &kernel, const Convolution &shape,
                     bool widens) noexcept;

// Whether all taps at once, added up where windows want them (GemmCol2im,
// Im2colFilterGradient), are faster than windows, by oneDNN or a micro-kernel, for a shape that
// can be computed so.
Verdict isCol2imWorthwhile(const MicroKernel &kernel, const Convolution &shape) noexcept;

} // namespace mpc::rt

#endif
