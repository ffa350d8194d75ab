// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of variables in the order in which kernels read them, and how long they are worth keeping.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONTRACT_PACKED_WEIGHTS_H
#define MPC_RUNTIME_DRIVERS_CPU_CONTRACT_PACKED_WEIGHTS_H

#include "runtime/base/memory.h"
#include "runtime/drivers/contraction.h"

namespace mpc::rt {

struct PackedWeights {
  Buffer buffer;
  uint64_t keptVersion = 0;   // of what `buffer` holds
  uint64_t packedVersion = 0; // packed last, wherever
};

// The state of all variables together: which values they have, and whether these stay.
struct WeightState {
  bool constant = false; // copies may be kept until the version is another
  uint64_t version = 1;

  bool keeps(const mpc_rt_contract_t &descriptor) const {
    return constant && descriptor.rhs_variable >= 0;
  }
};

} // namespace mpc::rt

#endif
