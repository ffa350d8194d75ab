// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/base/status.h"
#include "runtime/execution/context.h"
#include "runtime/execution/services.h"
#include "runtime/execution/waiting_shadow.h"

namespace mpc::rt {
namespace {

Driver &driverOf(void *context) { return *static_cast<mpc_rt_context_t *>(context)->driver; }

void parallelFor(void *context, mpc_rt_kernel_fn kernel, void *const *arguments, int64_t count,
                 int64_t grain) noexcept {
  driverOf(context).parallelFor(kernel, arguments, count, grain);
}

void parallelForAll(void *context, const mpc_rt_launch_t *launches, uint32_t launchCount) noexcept {
  driverOf(context).parallelForAll(launches, launchCount);
}

// Always by the copies of weights, which each step reads.
int32_t parallelRows(void *context, const mpc_rt_call_t *call, mpc_rt_rows_fn body, int64_t count,
                     const mpc_rt_rows_product_t *products, uint32_t productCount, int64_t batch) {
  return guard("loop over rows", [&]() -> mpc_rt_status_t {
    for (uint32_t i = 0; i < productCount; ++i)
      if (auto status =
              readyShadow(*static_cast<mpc_rt_context_t *>(context), *products[i].descriptor))
        return status;
    return driverOf(context).runRows({call, body, count, products, productCount, batch});
  });
}

void launchRows(void *context, mpc_rt_kernel_fn kernel, void *const *arguments, int64_t begin,
                int64_t end, int64_t grain) noexcept {
  driverOf(context).launchRows(kernel, arguments, begin, end, grain);
}

int32_t contractRows(void *context, uint32_t product, const void *lhs, void *out, int64_t begin,
                     int64_t end) {
  return guard("contraction of rows",
               [&] { return driverOf(context).contractRows(product, lhs, out, begin, end); });
}

int32_t prepare(void *context, const mpc_rt_call_t *call, mpc_rt_prepare_fn fill, uint64_t bytes,
                void **memory) {
  return guard("prepared weights",
               [&] { return driverOf(context).prepare(*call, fill, bytes, *memory); });
}

} // namespace

void setLoops(mpc_rt_services_t &services) noexcept {
  services.parallel_for = parallelFor;
  services.parallel_for_all = parallelForAll;
  services.parallel_rows = parallelRows;
  services.launch_rows = launchRows;
  services.contract_rows = contractRows;
  services.prepare = prepare;
}

} // namespace mpc::rt
