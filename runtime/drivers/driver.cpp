// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What drivers do that leave it to the others' functions.
#include "runtime/drivers/driver.h"

namespace mpc::rt {

mpc_rt_status_t Driver::contractAndLaunch(const mpc_rt_contract_t &descriptor, const void *lhs,
                                          const void *rhs, const void *bias, void *out,
                                          const ResultKernel &kernel, int64_t batch) {
  Contraction shape;
  if (auto status = resolveContraction(descriptor, lhs, rhs, bias, out, batch, shape))
    return status;
  if (auto status = contract(descriptor, lhs, rhs, bias, out, /*largest=*/nullptr, batch))
    return status;
  kernel.run(*this, shape.outElements());
  return MPC_RT_OK;
}

} // namespace mpc::rt
