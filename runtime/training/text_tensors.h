// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Inputs and outputs whose elements are texts.
#ifndef MPC_RUNTIME_TRAINING_TEXT_TENSORS_H
#define MPC_RUNTIME_TRAINING_TEXT_TENSORS_H

#include "mpc-rt/executable.h"

namespace mpc::training {

/// Whether an input or output of one of the library's entries is of code points of texts, which are
/// its last dimension.
inline bool isText(const mpc_rt_executable_t &tables, const mpc_rt_entry_info_t &entry,
                   bool isOutput, uint32_t tensor) {
  return mpc_rt_find_form(&tables, static_cast<uint32_t>(&entry - tables.entries), isOutput, tensor,
                          MPC_RT_FORM_TEXT) != nullptr;
}

} // namespace mpc::training
#endif
