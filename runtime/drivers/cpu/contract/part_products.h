// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products that parts of a batch sum, by a micro-kernel: each part packs its operands as a whole;
// what is multiplied and added then stays in the first-level cache until it is the sum of all
// parts.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONTRACT_PART_PRODUCTS_H
#define MPC_RUNTIME_DRIVERS_CPU_CONTRACT_PART_PRODUCTS_H

#include "runtime/drivers/cpu/contract/contraction_call.h"
#include "runtime/drivers/cpu/contract/contraction_memory.h"
#include "runtime/drivers/part_product.h"

#include <map>
#include <memory>

namespace mpc::rt {

class BlockedPart;
class BlockedProduct;
struct MicroKernel;

// Those of one context: the next one takes the memory of the last one.
class PartProducts {
public:
  explicit PartProducts(ContractionMemory &memory);
  ~PartProducts();

  // That of a call which `product` would compute, or null where it is none of these. It takes the
  // memory; with `packs` it has its operands, too, and the call its sums of columns.
  PartProduct *prepare(const ContractionCall &call, const BlockedProduct &product, bool packs);
  uint64_t bytes() const noexcept;

private:
  ContractionMemory &memory;
  std::map<const MicroKernel *, std::unique_ptr<BlockedPart>> parts;
};

} // namespace mpc::rt

#endif
