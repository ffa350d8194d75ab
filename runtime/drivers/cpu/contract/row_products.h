// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of a loop over time whose rows threads share among them for all steps: what the threads
// read together is made ready before, and the kernel is the one that ContractionKernels chooses, so
// that results do not depend on the number of threads.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONTRACT_ROW_PRODUCTS_H
#define MPC_RUNTIME_DRIVERS_CPU_CONTRACT_ROW_PRODUCTS_H

#include "runtime/drivers/cpu/contract/blocked_product.h"
#include "runtime/drivers/cpu/contract/contraction_kernels.h"
#include "runtime/drivers/kernel_log.h"
#include "runtime/drivers/row_loop.h"

#include <vector>

namespace mpc::rt {

class RowProducts {
public:
  RowProducts(ContractionMemory &memory, const ContractionKernels &kernels, KernelLog &log)
      : memory(memory), kernels(kernels), log(log) {}

  // Implements Contractor::prepareRows().
  bool prepare(const RowLoop &loop, int64_t mostProducts, bool packs);
  // Runs rows of the loop that was prepared last; any number of threads may call it at once.
  void run(uint32_t product, const void *lhs, void *out, int64_t begin, int64_t end) const {
    const Product &own = products[product];
    own.blocked->runRows(own.shape, lhs, own.packed, own.bias, out, begin, end);
  }
  uint64_t bytes() const noexcept;

private:
  struct Product {
    Contraction shape;
    const BlockedProduct *blocked = nullptr;
    const void *packed = nullptr; // rhs
    const float *bias = nullptr;
    Buffer ownRhs, ownBias; // what no variable keeps
  };

  bool prepare(const RowLoop &loop, const mpc_rt_rows_product_t &product, int64_t mostProducts,
               bool packs, Product &prepared);
  // A variable as `blocked` reads it in every step of a loop.
  const void *packForSteps(int32_t variable, const Contraction &shape, BlockedProduct &blocked,
                           const void *rhs, bool packs);

  ContractionMemory &memory;
  const ContractionKernels &kernels;
  KernelLog &log;
  std::vector<Product> products;
};

} // namespace mpc::rt

#endif
