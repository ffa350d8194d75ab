// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop over time whose rows do not touch each other's, as services->parallel_rows gets it.
#ifndef MPC_RUNTIME_DRIVERS_ROW_LOOP_H
#define MPC_RUNTIME_DRIVERS_ROW_LOOP_H

#include "mpc-rt/executable.h"

namespace mpc::rt {

struct RowLoop {
  const mpc_rt_call_t *call;
  mpc_rt_rows_fn body;
  int64_t count; // of rows
  const mpc_rt_rows_product_t *products;
  uint32_t productCount;
  int64_t batch;
};

} // namespace mpc::rt

#endif
