// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instruction sets by name.
#ifndef MPC_RUNTIME_TRAINING_ISA_NAME_H
#define MPC_RUNTIME_TRAINING_ISA_NAME_H

#include <cstdint>

namespace mpc::training {

// Of an mpc_rt_isa_t; null for one that this program does not know.
inline const char *isaName(uint32_t isa) {
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

} // namespace mpc::training

#endif
