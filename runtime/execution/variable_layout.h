// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where each variable lies in the one flat arena. Trainable variables are contiguous in the model's
// order; so is each optimizer slot family, in the same order, so that one pass over equal offsets
// updates parameters and slots; so are the shadows.
#ifndef MPC_RUNTIME_EXECUTION_VARIABLE_LAYOUT_H
#define MPC_RUNTIME_EXECUTION_VARIABLE_LAYOUT_H

#include "mpc-rt/executable.h"

#include <cstdint>
#include <vector>

namespace mpc::rt {

struct VariableLayout {
  struct Block {
    uint64_t offset = 0, bytes = 0;
  };
  std::vector<uint64_t> offsets, sizes; // per variable; offsets are multiples of 64
  Block roles[6];                       // by mpc_rt_role_t
  uint64_t bytes = 0;
};

// False when the total overflows. The executable has passed checkTables.
bool layOutVariables(const mpc_rt_executable_t &executable, VariableLayout &layout);

// The huge pages, in an arena that starts with one, that lie within one variable each; in order.
std::vector<VariableLayout::Block> hugeSpans(const VariableLayout &layout);

} // namespace mpc::rt

#endif
