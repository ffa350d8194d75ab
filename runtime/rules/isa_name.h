// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instruction sets by name.
#ifndef MPC_RUNTIME_RULES_ISA_NAME_H
#define MPC_RUNTIME_RULES_ISA_NAME_H

#include <cstdint>

namespace mpc::rules {

// The name of an mpc_rt_isa_t, "x86-64-v3"; null for one that this version does not know.
inline const char *isaName(int64_t isa) noexcept {
  switch (isa) {
#define MPC_RT_ISA(name, number, text)                                                             \
  case number:                                                                                     \
    return text;
#include "mpc-rt/isa.inc"
#undef MPC_RT_ISA
  default:
    return nullptr;
  }
}

} // namespace mpc::rules

#endif
