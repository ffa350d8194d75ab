// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product of which the parts of a batch want the sum alone (MPC_RT_CONTRACT_SUMMED_BY_PARTS): the
// operands of one part, which all of them multiply and add, block of the result after block.
#ifndef MPC_RUNTIME_DRIVERS_PART_PRODUCT_H
#define MPC_RUNTIME_DRIVERS_PART_PRODUCT_H

#include "mpc-rt/services.h"
#include "mpc-rt/status.h"

#include <cstddef>
#include <vector>

namespace mpc::rt {

class PartProduct {
public:
  virtual ~PartProduct() = default;
  // Whether one sum may have both.
  virtual bool goesWith(const PartProduct &other) const = 0;
  // The result has so many, as that of products that go with this one.
  virtual size_t blocks() const = 0;
  // Stores a block of the sum of `parts`, a power of two, to the array `out`: each product by
  // itself, as contract() computes it, then added by the binary tree over the parts in order (of
  // two NaN always the same one). A null adds zeros. Each thread calls it of the product that its
  // own part has.
  virtual void sum(const std::vector<const PartProduct *> &parts, size_t block, float *out) = 0;
};

// The kernels of the driver of one part.
class PartKernels {
public:
  virtual ~PartKernels() = default;
  // Packs what the part has of a product that parts sum, and computes call.sums; it stays until the
  // next one. Null where Driver::contract() computes the call. Without `packs` it takes the memory
  // for that alone.
  virtual mpc_rt_status_t prepareSum(const mpc_rt_contract_t &descriptor,
                                     const mpc_rt_contract_call_t &call, bool packs,
                                     PartProduct *&product) = 0;
  // These kernels and those of the first part pack weights once for both. They forget them when no
  // part runs.
  virtual void shareWeights(PartKernels &first) = 0;
  virtual void forgetSharedWeights() = 0;
};

} // namespace mpc::rt

#endif
