// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/contract/contraction_kernels.h"

#include "runtime/base/dtype.h"

#include <algorithm>
#include <functional>
#include <string_view>

namespace mpc::rt {

ContractionKernels::ContractionKernels(ContractionMemory &memory, int isa, KernelChoices &choices,
                                       const ContractionAbilities &abilities)
    : memory(memory), choices(choices) {
  kernels.push_back(makeFloat64Loop());
  kernels.push_back(makeIntegerTiles(memory.integers));
  kernels.push_back(makeIntegerCopy(*this, memory.integers, abilities.nativeBFloat16));
  kernels.push_back(makeStreamedWeights());
  const MicroKernel *streamed = abilities.ownKernels ? streamedMicroKernel(isa) : nullptr;
  if (streamed)
    kernels.push_back(makeBlockedKernel(memory.team, isa, *streamed, /*preferred=*/nullptr,
                                        /*onlyStreams=*/true));
  ContractionKernel *preferred = nullptr;
  const auto addBlocked = [&](const MicroKernel *kernel) {
    if (!kernel || !abilities.ownKernels)
      return;
    kernels.push_back(makeBlockedKernel(memory.team, isa, *kernel, preferred));
    preferred = kernels.back().get();
  };
  if (abilities.nativeBFloat16)
    addBlocked(bfloat16MicroKernel(isa));
  addBlocked(float32MicroKernel(isa));
  const Int8Kernel *int8 = abilities.ownKernels ? int8Kernel(isa) : nullptr;
  if (int8)
    kernels.push_back(makeOwnInt8(*int8));
  kernels.push_back(makeLibraryKernel(memory.team, abilities));
  kernels.push_back(makeInt8Loop(isa >= MPC_RT_ISA_X86_64_V3));
}

const std::string *ContractionKernels::choiceOf(const ContractionCall &call) const {
  return choices.find(
      {KernelChoices::Operation::contraction, call.descriptor.id, call.batch, call.isKept});
}

// oneDNN is what is left where another one was measured to be slower.
Verdict ContractionKernels::ask(ContractionKernel &kernel, const ContractionCall &call) const {
  const std::string *chosen = kernel.isTuned() ? choiceOf(call) : nullptr;
  if (chosen && kernel.name() != std::string_view(libraryKernel))
    return {*chosen == kernel.name(), {"measured by --tune"}};
  return kernel.takes(call);
}

ContractionKernels::Choice ContractionKernels::choose(const ContractionCall &call) const {
  Reason last;
  for (const auto &kernel : kernels) {
    if (!kernel->computes(call))
      continue;
    const Verdict verdict = ask(*kernel, call);
    if (verdict.isTaken)
      return {kernel.get(), *verdict.reason.condition ? verdict.reason : last};
    last = verdict.reason;
  }
  return {kernels.back().get(), last}; // not reached: oneDNN and the loops take all that is valid
}

bool ContractionKernels::measures(const ContractionCall &call) const {
  return choices.toBeMeasured(
      {KernelChoices::Operation::contraction, call.descriptor.id, call.batch, call.isKept});
}

ContractionKernels::Choice ContractionKernels::settle(const ContractionCall &call) {
  const Choice choice = choose(call);
  if (!choice.kernel->isTuned() || !measures(call))
    return choice;
  measure(call);
  return choose(call);
}

void ContractionKernels::measure(const ContractionCall &call) {
  std::vector<ContractionKernel *> candidates;
  for (const auto &kernel : kernels)
    if (kernel->isTuned() && kernel->computes(call))
      candidates.push_back(kernel.get());
  // The kernel that the rules prefer is measured first.
  const auto best = std::find(candidates.begin(), candidates.end(), choose(call).kernel);
  if (best != candidates.end())
    std::iter_swap(candidates.begin(), best);
  Buffer result;
  reserve(result, call.shape.outElements() * dtypeSize(call.shape.out));
  // Weights that change are packed anew in every step, so that belongs to the time.
  mpc_rt_contract_t alone = call.descriptor;
  alone.rhs_variable = call.isKept ? call.descriptor.rhs_variable : -1;
  const ContractionCall trial{alone,
                              call.shape,
                              call.lhs,
                              call.rhs,
                              call.bias,
                              result.data(),
                              {nullptr, nullptr, call.extras.bits},
                              call.batch,
                              call.isKept};
  std::vector<const char *> names;
  std::vector<std::function<void()>> calls;
  for (ContractionKernel *candidate : candidates) {
    names.push_back(candidate->name());
    calls.emplace_back([&, candidate] { candidate->run(trial, memory); });
  }
  choices.measure(
      {KernelChoices::Operation::contraction, call.descriptor.id, call.batch, call.isKept}, names,
      calls);
  memory.dropPacked(alone.rhs_variable);
}

bool ContractionKernels::hasKernel(const std::string &name) const {
  return std::any_of(kernels.begin(), kernels.end(), [&](const auto &kernel) {
    return kernel->isTuned() && name == kernel->name();
  });
}

void ContractionKernels::forgetPlans() noexcept {
  for (auto &kernel : kernels)
    kernel->forgetPlans();
}

uint64_t ContractionKernels::bytes() const noexcept {
  uint64_t total = 0;
  for (auto &kernel : kernels)
    total += kernel->bytes();
  return total;
}

} // namespace mpc::rt
