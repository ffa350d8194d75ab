// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One call of the `contract` services, as the kernels of the CPU get it.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONTRACT_CONTRACTION_CALL_H
#define MPC_RUNTIME_DRIVERS_CPU_CONTRACT_CONTRACTION_CALL_H

#include "runtime/drivers/contraction.h"

namespace mpc::rt {

struct ContractionCall {
  const mpc_rt_contract_t &descriptor;
  Contraction shape;
  const void *lhs, *rhs, *bias;
  void *out; // null: a kernel on the result consumes it
  ContractionExtras extras;
  int64_t batch;
  bool isKept = false;                 // packed copies of rhs stay
  bool byRows = false;                 // a product of a loop whose rows threads share
  bool isMaster = false;               // rhs is float32, to be rounded to what the shape says
  const BlockScales *blocks = nullptr; // of packed weights

  bool hasFloat64() const {
    return shape.lhs == MPC_RT_FLOAT64 || shape.rhs == MPC_RT_FLOAT64 ||
           shape.out == MPC_RT_FLOAT64 || shape.bias == MPC_RT_FLOAT64;
  }
  bool isConsumed() const { return descriptor.flags & MPC_RT_CONTRACT_CONSUMED; }
};

} // namespace mpc::rt

#endif
