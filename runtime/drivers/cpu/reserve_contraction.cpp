// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory that a contraction needs, and the kernel that it gets, before it is computed: buffers
// get their sizes, their pages come when they are used. Each way goes as the one in contractor.cpp
// that computes.
#include "runtime/drivers/cpu/contractor.h"
#include "runtime/drivers/cpu/onednn_blocks.h"

namespace mpc::rt {

mpc_rt_status_t Contractor::reserveFor(const mpc_rt_contract_t &descriptor, const void *lhs,
                                       const void *rhs, const void *bias, void *out,
                                       const ContractionExtras &extras, int64_t batch) {
  Contraction c;
  if (auto status = resolveContraction(descriptor, lhs, rhs, bias, out, batch, c))
    return status;
  c.makesMask = extras.bits.mask;
  c.readsMask = extras.bits.where;
  const bool isWide = c.lhs == MPC_RT_FLOAT64 || c.rhs == MPC_RT_FLOAT64 ||
                      c.out == MPC_RT_FLOAT64 || c.bias == MPC_RT_FLOAT64;
  // Loops over float64 have no memory of their own; of integers it depends on their values.
  if (c.outElements() == 0)
    return MPC_RT_OK;
  if (c.rhs == MPC_RT_INT8) {
    listIntegers(descriptor, c, batch);
    return MPC_RT_OK;
  }
  if (isWide || isFewRows(descriptor, c)) {
    list(descriptor, c, batch, isWide ? "" : "streamed_weights");
    placeOf(c, out);
    reserveRounded(c);
    if (!isWide) {
      reserve(lhsBlock, static_cast<uint64_t>(c.m * c.k) * sizeof(float));
      reserveBias(c);
    }
    return MPC_RT_OK;
  }
  Plan &plan = findPlan(descriptor, c, extras.largest, extras.kernel, batch);
  list(descriptor, c, batch, kernelOf(descriptor, batch));
  reserveBias(c);
  if (plan.blocked)
    reserveBlocked(plan, descriptor, out, extras);
  else
    reserveProducts(plan, descriptor, out);
  return MPC_RT_OK;
}

void Contractor::listIntegers(const mpc_rt_contract_t &descriptor, const Contraction &c,
                              int64_t batch) {
  if (c.lhs != MPC_RT_INT8) {
    if (integerWeights.readsTiles(descriptor, c, /*scales=*/nullptr))
      list(descriptor, c, batch, "integer_tiles");
  } else if (runsInt8Kernel(descriptor, c, batch)) {
    list(descriptor, c, batch, int8Kernel->name);
  } else {
    const Plan *plan = findInt8Plan(descriptor, c, batch);
    list(descriptor, c, batch, plan ? plan->body->kernel() : "");
  }
}

void Contractor::reserveRounded(const Contraction &c) {
  if (c.roundsLhs)
    reserve(lhsRounded, c.lhsElements() * dtypeSize(c.lhs));
}

void Contractor::reserveBias(const Contraction &c) {
  if (c.hasBias && c.bias != MPC_RT_FLOAT32)
    reserve(biasWide, static_cast<uint64_t>(c.n) * sizeof(float));
}

void Contractor::reserveBlocked(Plan &plan, const mpc_rt_contract_t &descriptor, void *out,
                                const ContractionExtras &extras) {
  BlockedProduct &product = *plan.blocked;
  const Contraction &c = plan.shape;
  BlockedProduct::Result result{out, /*largest=*/nullptr, extras.kernel,
                                (descriptor.flags & MPC_RT_CONTRACT_CONSUMED) != 0};
  if (!product.storesNothing(c, result))
    result.out = placeOf(c, out);
  bool isPacked = false;
  if (descriptor.rhs_variable >= 0 && c.batch == 1 && !extras.rhsSums) {
    PackedWeights &entry = weights[{descriptor.rhs_variable, c.transposeRhs, c.k, c.n, &product}];
    bool keep = false;
    isPacked = findPacked(entry, keep);
    if (!isPacked && (keep || product.packsRhsFirst(c, result)))
      isPacked = packInto(&entry, keep, product.packedBytes(c), [](uint8_t *) {});
  }
  product.reserveFor(c, isPacked, result);
}

void Contractor::reserveProducts(Plan &plan, const mpc_rt_contract_t &descriptor, void *out) {
  const Contraction &c = plan.shape;
  placeOf(c, out);
  reserveRounded(c);
  PackedWeights *entry = nullptr;
  bool keep = false, isPacked = false;
  if (descriptor.rhs_variable >= 0 && plan.packed) {
    entry = &weights[{descriptor.rhs_variable, c.transposeRhs, c.k, c.n, plan.packed.get()}];
    isPacked = findPacked(*entry, keep);
  }
  if (!isPacked && plan.widenRhs)
    reserve(rhsWhole, c.rhsElements() * sizeof(float));
  if (!isPacked && plan.packed)
    packInto(entry, keep, plan.packed->bytes(), [](uint8_t *) {});
  const int64_t rows = plan.block * (plan.batched ? c.m : 1);
  if (plan.widenLhs)
    reserve(lhsBlock, static_cast<uint64_t>(rows * c.k) * sizeof(float));
  if (plan.throughScratch || (c.k == 0 && c.accumulate))
    reserve(sumBlock, static_cast<uint64_t>(rows * c.n) * sizeof(float));
  for (const auto *part : {plan.body.get(), plan.tail.get()})
    if (part)
      reserve(libraryScratch, part->scratchBytes());
}

} // namespace mpc::rt
