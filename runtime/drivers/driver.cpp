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

mpc_rt_status_t Driver::runRows(const RowLoop &loop) {
  rowLoop = &loop;
  const int32_t status = loop.body(loop.call, 0, loop.count);
  rowLoop = nullptr;
  return static_cast<mpc_rt_status_t>(status);
}

void Driver::launchRows(mpc_rt_kernel_fn kernel, void *const *arguments, int64_t /*begin*/,
                        int64_t end, int64_t grain) {
  parallelFor(kernel, arguments, end, grain);
}

mpc_rt_status_t Driver::contractRows(uint32_t product, const void *lhs, void *out,
                                     int64_t /*begin*/, int64_t /*end*/) {
  const mpc_rt_rows_product_t &own = rowLoop->products[product];
  return contract(*own.descriptor, lhs, own.rhs, own.bias, out, /*largest=*/nullptr,
                  rowLoop->batch);
}

} // namespace mpc::rt
