// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/contract/row_products.h"

#include <algorithm>

namespace mpc::rt {

bool RowProducts::prepare(const RowLoop &loop, int64_t mostProducts, bool packs) {
  products.resize(std::max<size_t>(products.size(), loop.productCount));
  for (uint32_t i = 0; i < loop.productCount; ++i)
    if (!prepare(loop, loop.products[i], mostProducts, packs, products[i]))
      return false;
  return true;
}

// Refusals of any kind are for contract() to deal with.
bool RowProducts::prepare(const RowLoop &loop, const mpc_rt_rows_product_t &product,
                          int64_t mostProducts, bool packs, Product &prepared) {
  const mpc_rt_contract_t &descriptor = *product.descriptor;
  Contraction &c = prepared.shape;
  // Operands of single rows are not known yet; they are not null.
  const void *some = &product;
  if (resolveContraction(descriptor, some, product.rhs, product.bias, some, loop.batch, c) ||
      c.m != loop.count || c.outElements() == 0 || c.m * c.n * c.k > mostProducts ||
      c.bias > MPC_RT_FLOAT16)
    return false;
  const ContractionCall call{descriptor,
                             c,
                             some,
                             product.rhs,
                             product.bias,
                             /*out=*/nullptr,
                             /*extras=*/{},
                             loop.batch,
                             memory.state.keeps(descriptor),
                             /*byRows=*/true};
  const ContractionKernels::Choice choice = kernels.choose(call);
  BlockedProduct *blocked = choice.kernel->product();
  if (!blocked || !blocked->runsByRows(c) || kernels.measures(call)) // contract() measures
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
    memory.widen(c.bias, product.bias, wide, static_cast<uint64_t>(c.n));
    prepared.bias = wide;
  }
  log.note(descriptor.id, loop.batch, descriptor.layer, c, choice.kernel->name(), choice.reason);
  return true;
}

const void *RowProducts::packForSteps(int32_t variable, const Contraction &c,
                                      BlockedProduct &blocked, const void *rhs, bool packs) {
  PackedWeights &entry = memory.entryOf(variable, c, blocked.layoutOf(c));
  if (entry.keptVersion == memory.state.version)
    return entry.buffer.data();
  return memory.packInto(&entry, /*keep=*/true, blocked.packedBytes(c), [&](uint8_t *to) {
    if (packs)
      blocked.packRhs(c, rhs, to);
  });
}

uint64_t RowProducts::bytes() const noexcept {
  uint64_t total = 0;
  for (auto &product : products)
    total += product.ownRhs.size() + product.ownBias.size();
  return total;
}

} // namespace mpc::rt
