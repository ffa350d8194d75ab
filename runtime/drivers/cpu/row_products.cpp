// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of a loop over time whose rows threads share among them for all steps: what the threads
// read together is made ready before, and the kernel is the one that contract() takes, so that
// results do not depend on the number of threads.
#include "runtime/drivers/cpu/contractor.h"

#include <algorithm>

namespace mpc::rt {

bool Contractor::prepareRows(const RowLoop &loop, int64_t mostProducts, bool packs) {
  rowProducts.resize(std::max<size_t>(rowProducts.size(), loop.productCount));
  for (uint32_t i = 0; i < loop.productCount; ++i)
    if (!prepareProduct(loop, loop.products[i], mostProducts, packs, rowProducts[i]))
      return false;
  return true;
}

// Refusals of any kind are for contract() to deal with.
bool Contractor::prepareProduct(const RowLoop &loop, const mpc_rt_rows_product_t &product,
                                int64_t mostProducts, bool packs, RowProduct &prepared) {
  const int64_t batch = loop.batch;
  const mpc_rt_contract_t &descriptor = *product.descriptor;
  Contraction &c = prepared.shape;
  // Operands of single rows are not known yet; they are not null.
  const void *some = &product;
  if (resolveContraction(descriptor, some, product.rhs, product.bias, some, batch, c) ||
      c.m != loop.count || c.outElements() == 0 || c.m * c.n * c.k > mostProducts ||
      c.bias > MPC_RT_FLOAT16)
    return false;
  BlockedProduct *blocked = findBlocked(c);
  if (!blocked || !blocked->runsByRows(c) || isFewRows(descriptor, c))
    return false;
  const bool keeps = state.keeps(descriptor);
  if (choices.toBeMeasured({KernelChoices::Operation::contraction, descriptor.id, batch, keeps}))
    return false; // contract() measures
  const Plan &plan = findPlan(descriptor, c, /*findLargest=*/false, /*launches=*/false, batch,
                              /*byRows=*/true);
  if (plan.blocked != blocked)
    return false;

  prepared.blocked = blocked;
  if (descriptor.rhs_variable < 0) {
    reserve(prepared.ownRhs, blocked->packedBytes(c));
    if (packs)
      blocked->packRhs(c, product.rhs, prepared.ownRhs.data());
    prepared.packed = prepared.ownRhs.data();
  } else {
    prepared.packed = packForSteps(descriptor.rhs_variable, c, *blocked, product.rhs, packs);
  }
  prepared.bias = static_cast<const float *>(product.bias);
  if (c.hasBias && c.bias != MPC_RT_FLOAT32) {
    reserve(prepared.ownBias, static_cast<uint64_t>(c.n) * sizeof(float));
    float *wide = prepared.ownBias.floats();
    widen(c.bias, product.bias, wide, static_cast<uint64_t>(c.n));
    prepared.bias = wide;
  }
  list(descriptor, c, batch, blocked->name());
  return true;
}

} // namespace mpc::rt
