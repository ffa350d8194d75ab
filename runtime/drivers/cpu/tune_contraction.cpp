// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Choosing the kernel of a contraction by measuring.
#include "runtime/drivers/cpu/contractor.h"

namespace mpc::rt {

bool Contractor::hasKernel(const std::string &name) const {
  for (auto *own : {bfloat16Product.get(), float32Product.get()})
    if (own && name == own->name())
      return true;
  return int8Kernel && name == int8Kernel->name;
}

void Contractor::measure(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                         const void *lhs, const void *rhs, const void *bias, const ReluBits &bits,
                         int64_t batch) {
  BlockedProduct *blocked = findBlocked(shape);
  if (!blocked)
    return;
  const bool keep = state.keeps(descriptor);
  Buffer result;
  reserve(result, shape.outElements() * dtypeSize(shape.out));
  // Weights that change are packed anew in every step, so that belongs to the time.
  mpc_rt_contract_t alone = descriptor;
  alone.rhs_variable = keep ? descriptor.rhs_variable : -1;
  // What the rules prefer is first.
  BlockedProduct *candidates[] = {blocked, nullptr};
  if (!blocked->isWorthwhile(shape, keep, /*launches=*/true) && !blocked->isWorthwhileByRows(shape))
    std::swap(candidates[0], candidates[1]);
  std::vector<std::unique_ptr<Plan>> plans;
  std::vector<std::function<void()>> calls;
  for (BlockedProduct *candidate : candidates) {
    plans.push_back(makePlan(shape, keep, /*findLargest=*/false, /*launches=*/false, candidate));
    calls.emplace_back([&, plan = plans.back().get()] {
      execute(*plan, alone, lhs, rhs, bias, result.data(), {nullptr, nullptr, bits});
    });
  }
  const BlockedProduct *fastest = candidates[fastestOf(calls)];
  choices.set({KernelChoices::Operation::contraction, descriptor.id, batch, keep},
              fastest ? fastest->name() : libraryKernel);
  dropPacked(alone.rhs_variable);
}

void Contractor::measureIntegers(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                                 const int8_t *lhs, const int8_t *rhs, int64_t batch) {
  Plan *library = findInt8Plan(descriptor, shape, batch);
  if (!library)
    return;
  Buffer result;
  reserve(result, shape.outElements() * sizeof(int32_t));
  const size_t fastest = fastestOf(
      {[&] {
         multiplyInt8(descriptor, shape, lhs, rhs, reinterpret_cast<int32_t *>(result.data()));
       },
       [&] { execute(*library, descriptor, lhs, rhs, /*bias=*/nullptr, result.data(), {}); }});
  choices.set({KernelChoices::Operation::contraction, descriptor.id, batch, /*rhsKept=*/true},
              fastest == 0 ? int8Kernel->name : libraryKernel);
  dropPacked(descriptor.rhs_variable);
}

void Contractor::dropPacked(int32_t variable) {
  packedOnceHolds = nullptr;
  for (auto entry = weights.begin(); entry != weights.end();)
    entry = std::get<0>(entry->first) == variable ? weights.erase(entry) : ++entry;
  integerWeights.dropTiles(variable);
}

} // namespace mpc::rt
