// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/cpu_kernels.h"
#include "runtime/base/fork_watch.h"
#include "runtime/base/status.h"
#include "runtime/drivers/cpu/kernels/cpu_kind.h"

#include <utility>

namespace mpc::rt {

void CpuKernels::make() {
  contractor.emplace(team, isa, chosen, log);
  contractor->shareWeights(sharedWeights.get());
  convolver.emplace(team, isa, chosen, log);
  attender.emplace(team, isa, onednn::hasNativeBFloat16());
  forks = forksSeen();
  isForkedThread = cameOutOfFork();
}

void CpuKernels::followFork() {
  if (forks != forksSeen() || isForkedThread != cameOutOfFork())
    make();
}

void CpuKernels::setWeightsConstant(bool areConstant) {
  contractor->setWeightsConstant(areConstant);
  convolver->setWeightsConstant(areConstant);
}

void CpuKernels::forgetWeights() noexcept {
  contractor->forgetWeights();
  convolver->forgetWeights();
}

uint64_t CpuKernels::bytes() const noexcept {
  return contractor->bytes() + convolver->bytes() + attender->bytes() +
         (isFirstOfShared ? sharedWeights->bytes() : 0);
}

mpc_rt_status_t CpuKernels::prepareSum(const mpc_rt_contract_t &descriptor,
                                       const mpc_rt_contract_call_t &call, bool packs,
                                       PartProduct *&product) {
  Contraction shape;
  if (auto status = resolveContraction(descriptor, call, shape))
    return status;
  product = contractor->partProduct(descriptor, shape, call, packs);
  return MPC_RT_OK;
}

void CpuKernels::shareWeights(PartKernels &first) {
  auto &other = static_cast<CpuKernels &>(first); // parts of one context have one device
  if (!other.sharedWeights)
    other.sharedWeights = std::make_shared<SharedWeights>();
  sharedWeights = other.sharedWeights;
  isFirstOfShared = this == &other;
  contractor->shareWeights(sharedWeights.get());
}

void CpuKernels::forgetSharedWeights() {
  if (sharedWeights)
    sharedWeights->forget();
}

void CpuKernels::forgetPlans() noexcept {
  contractor->forgetPlans();
  convolver->forgetPlans();
}

void CpuKernels::tune(uint64_t steps) noexcept {
  chosen.startMeasuring(steps ? TrialAllowance(steps) : TrialAllowance());
  forgetPlans();
}

bool CpuKernels::hasMeasuredRules() const noexcept { return cpuKind() & measuredCpus; }

mpc_rt_status_t CpuKernels::setChoices(const char *text) {
  KernelChoices wanted = chosen;
  if (!wanted.parse(text))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "choices of kernels: expected lines of [convolution] ID BATCH kept|changing "
                "KERNEL, as mpc_rt_context_kernel_choices gives");
  for (auto &[product, kernel] : wanted.all()) {
    const bool has = product.operation == KernelChoices::Operation::convolution
                         ? convolver->hasKernel(kernel)
                         : contractor->hasKernel(kernel);
    if (kernel != libraryKernel && !has)
      return fail(MPC_RT_UNAVAILABLE,
                  "choices of kernels: '%s' does not run on this CPU; measure here again",
                  kernel.c_str());
  }
  chosen = std::move(wanted);
  forgetPlans();
  return MPC_RT_OK;
}

} // namespace mpc::rt
