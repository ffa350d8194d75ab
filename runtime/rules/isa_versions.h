// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables of kernels for CPUs that have more than a level of x86-64 (mpc_rt_isa_t). They give the
// same numbers as the level's, whose place they take where the CPU has what they need.
#ifndef MPC_RUNTIME_RULES_ISA_VERSIONS_H
#define MPC_RUNTIME_RULES_ISA_VERSIONS_H

#include <cstdint>

namespace mpc::rules {

// x86-64-v4 (2) with AVX512-BF16. Bit 7 says that it is no level, for which somebody may ask.
constexpr uint32_t isaV4WithBFloat16 = 0x82;

} // namespace mpc::rules

#endif
