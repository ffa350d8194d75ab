// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Choosing the kernel of a contraction by measuring.
#include "runtime/drivers/cpu/contractor.h"

namespace mpc::rt {

bool Contractor::hasKernel(const std::string &name) const {
  for (auto *own : {bfloat16Product.get(), float32Product.get()})
    if (own && name == own->name())
      return true;
  return false;
}

void Contractor::measure(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                         const void *lhs, const void *rhs, const void *bias, const ReluBits &bits,
                         int64_t batch) {
  BlockedProduct *blocked = findBlocked(shape);
  if (!blocked)
    return;
  const bool keep = weightsConstant && descriptor.rhs_variable >= 0;
  Buffer result;
  reserve(result, shape.outElements() * dtypeSize(shape.out));
  // Weights that change are packed anew in every step, so that belongs to the time.
  mpc_rt_contract_t alone = descriptor;
  alone.rhs_variable = keep ? descriptor.rhs_variable : -1;
  double fastest = 0;
  for (BlockedProduct *candidate : {blocked, static_cast<BlockedProduct *>(nullptr)}) {
    auto plan = makePlan(shape, keep, /*findLargest=*/false, candidate);
    const double seconds = secondsOf(
        [&] { execute(*plan, alone, lhs, rhs, bias, result.data(), {nullptr, nullptr, bits}); });
    if (candidate == blocked || seconds < fastest) {
      choices.set({KernelChoices::Operation::contraction, descriptor.id, batch, keep},
                  candidate ? candidate->name() : libraryKernel);
      fastest = seconds;
    }
  }
  // The copies that the slower one packed are for nobody.
  packedOnceHolds = nullptr;
  for (auto entry = weights.begin(); entry != weights.end();)
    entry = std::get<0>(entry->first) == alone.rhs_variable ? weights.erase(entry) : ++entry;
}

} // namespace mpc::rt
