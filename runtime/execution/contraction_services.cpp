// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/execution/context.h"
#include "runtime/execution/services.h"
#include "runtime/execution/waiting_shadow.h"

namespace mpc::rt {
namespace {

const char *nameOf(const mpc_rt_contract_t &descriptor) {
  return descriptor.layer ? descriptor.layer : "contraction";
}

// Runs `contract` of the context's driver, behind the layer's name in messages.
template <typename Contract>
int32_t callDriver(void *context, const mpc_rt_contract_t &descriptor, Contract contract) {
  return guard(nameOf(descriptor), [&]() -> mpc_rt_status_t {
    return contract(*static_cast<mpc_rt_context_t *>(context)->driver);
  });
}

// The same once the rhs is there.
template <typename Contract>
int32_t callDriverOnCopy(void *context, const mpc_rt_contract_t &descriptor, Contract contract) {
  return callDriver(context, descriptor, [&](Driver &driver) -> mpc_rt_status_t {
    auto status = readyShadow(*static_cast<mpc_rt_context_t *>(context), descriptor);
    return status ? status : contract(driver);
  });
}

int32_t contract(void *context, const mpc_rt_contract_t *descriptor, const void *lhs,
                 const void *rhs, const void *bias, void *out, int64_t batch) {
  return callDriver(context, *descriptor, [&](Driver &driver) {
    bool done = false;
    auto status = readyShadowOrContract(*static_cast<mpc_rt_context_t *>(context), *descriptor, lhs,
                                        bias, out, batch, done);
    return status || done ? status
                          : driver.contract(*descriptor, lhs, rhs, bias, out,
                                            /*largest=*/nullptr, batch);
  });
}

int32_t contractWithLargest(void *context, const mpc_rt_contract_t *descriptor, const void *lhs,
                            const void *rhs, const void *bias, void *out, void *largest,
                            int64_t batch) {
  return callDriverOnCopy(context, *descriptor, [&](Driver &driver) {
    return driver.contract(*descriptor, lhs, rhs, bias, out, largest, batch);
  });
}

mpc_rt_status_t checkKernel(const mpc_rt_contract_t &descriptor, uint32_t argumentCount,
                            uint32_t result) {
  if (argumentCount > MPC_RT_MAX_KERNEL_ARGUMENTS || result >= argumentCount)
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: a kernel of %u arguments on argument %u; this runtime takes %d; update "
                "libmpcrt",
                nameOf(descriptor), argumentCount, result, MPC_RT_MAX_KERNEL_ARGUMENTS);
  return MPC_RT_OK;
}

int32_t contractAndLaunch(void *context, const mpc_rt_contract_t *descriptor, const void *lhs,
                          const void *rhs, const void *bias, void *out, mpc_rt_kernel_fn kernel,
                          void *const *arguments, uint32_t argumentCount, uint32_t result,
                          int64_t grain, int64_t batch) {
  return callDriver(context, *descriptor, [&](Driver &driver) -> mpc_rt_status_t {
    if (auto status = checkKernel(*descriptor, argumentCount, result))
      return status;
    auto &own = *static_cast<mpc_rt_context_t *>(context);
    const ResultKernel launched{kernel, arguments, argumentCount, result, grain};
    if (!hasWaitingShadow(own, *descriptor))
      return driver.contractAndLaunch(*descriptor, lhs, rhs, bias, out, launched, batch);
    Contraction shape;
    if (auto status = resolveContraction(*descriptor, lhs, rhs, bias, out, batch, shape))
      return status;
    if (!out) {
      reserve(own.consumedResult, shape.outElements() * dtypeSize(shape.out));
      out = own.consumedResult.data();
    }
    bool done = false;
    if (auto status = readyShadowOrContract(own, *descriptor, lhs, bias, out, batch, done))
      return status;
    if (!done)
      return driver.contractAndLaunch(*descriptor, lhs, rhs, bias, out, launched, batch);
    launched.run(driver, out, shape.outElements());
    return MPC_RT_OK;
  });
}

// Always by the copy, whose columns are summed.
int32_t contractAndSum(void *context, const mpc_rt_contract_t *descriptor, const void *lhs,
                       const void *rhs, void *out, void *largest, float *sums,
                       const mpc_rt_result_kernel_t *kernel, int64_t batch) {
  return callDriverOnCopy(context, *descriptor, [&](Driver &driver) -> mpc_rt_status_t {
    ResultKernel onResult{};
    if (kernel) {
      if (auto status = checkKernel(*descriptor, kernel->argument_count, kernel->result))
        return status;
      onResult = {kernel->function, kernel->arguments, kernel->argument_count, kernel->result,
                  kernel->grain};
    }
    return driver.contractAndSum(*descriptor, lhs, rhs, out,
                                 {largest, kernel ? &onResult : nullptr, /*bits=*/{}, sums}, batch);
  });
}

int32_t contractBlocks(void *context, const mpc_rt_contract_t *descriptor, const void *lhs,
                       const void *rhs, const void *bias, const void *scale, const int8_t *zero,
                       const float *places, int64_t blocks, void *out, int64_t batch) {
  return callDriver(context, *descriptor, [&](Driver &driver) {
    return driver.contractBlocks(*descriptor, lhs, rhs, {scale, zero, places, blocks}, bias, out,
                                 batch);
  });
}

int32_t contractGroups(void *context, const mpc_rt_contract_t *descriptor, const void *lhs,
                       const void *rhs, const void *bias, const void *scale, const uint8_t *zero,
                       const float *places, int64_t groups, const float *divisors, void *out,
                       int64_t batch) {
  return callDriver(context, *descriptor, [&](Driver &driver) {
    return driver.contractBlocks(*descriptor, lhs, rhs,
                                 {scale, zero, places, groups, /*areGroups=*/true, divisors}, bias,
                                 out, batch);
  });
}

int32_t contractWithBits(void *context, const mpc_rt_contract_t *descriptor, const void *lhs,
                         const void *rhs, const void *bias, const uint8_t *where, void *out,
                         uint8_t *mask, int64_t batch) {
  return callDriverOnCopy(context, *descriptor, [&](Driver &driver) {
    return driver.contractWithBits(*descriptor, lhs, rhs, bias, {where, mask}, out, batch);
  });
}

int32_t contractWithGelu(void *context, const mpc_rt_contract_t *descriptor, const void *lhs,
                         const void *rhs, const void *bias, const void *at, void *out, void *kept,
                         int64_t batch) {
  return callDriverOnCopy(context, *descriptor, [&](Driver &driver) {
    return driver.contractWithGelu(*descriptor, lhs, rhs, bias, {at, kept}, out, batch);
  });
}

} // namespace

void setContractions(mpc_rt_services_t &services) noexcept {
  services.contract = contract;
  services.contract_with_largest = contractWithLargest;
  services.contract_and_launch = contractAndLaunch;
  services.contract_and_sum = contractAndSum;
  services.contract_blocks = contractBlocks;
  services.contract_groups = contractGroups;
  services.contract_with_bits = contractWithBits;
  services.contract_with_gelu = contractWithGelu;
}

} // namespace mpc::rt
