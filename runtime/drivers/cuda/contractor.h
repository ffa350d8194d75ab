// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `contract` service on a GPU: cuBLASLt, with plans per descriptor and batch.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_CONTRACTOR_H
#define MPC_RUNTIME_DRIVERS_CUDA_CONTRACTOR_H

#include "runtime/drivers/contraction.h"
#include "runtime/drivers/cuda/blas_products.h"
#include "runtime/drivers/cuda/epilogue_trials.h"
#include "runtime/drivers/cuda/kernel_table.h"
#include "runtime/drivers/kernel_log.h"
#include "runtime/rules/blas_products.h"

#include <map>
#include <tuple>

namespace mpc::rt::cuda {

// The owner of a product: ids of contractions, convolutions and attentions count apart.
enum class ProductKind { contraction, convolution, attention };

// A plan belongs to one of these: kind, id of the descriptor, batch, product or piece among those
// of the descriptor.
using ProductKey = std::tuple<ProductKind, uint32_t, int64_t, int>;

class Contractor {
public:
  Contractor(DeviceSession &session, KernelTable &kernels, KernelLog &log, bool tf32)
      : session(session), kernels(kernels), log(log), products(session, tf32),
        trials(session, kernels, products) {}
  ~Contractor();
  Contractor(const Contractor &) = delete;
  Contractor &operator=(const Contractor &) = delete;

  mpc_rt_status_t open() { return products.open(); }
  // A checked contraction. What cuBLASLt does not do beside the product, kernels of the artifact
  // do.
  mpc_rt_status_t contract(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                           const mpc_rt_contract_call_t &call);
  // A checked product. What cuBLASLt does not take, a kernel of the artifact does.
  mpc_rt_status_t multiply(const ProductKey &key, const Contraction &shape, const void *lhs,
                           const void *rhs, const void *bias, void *out, const char *layer);
  // This product as the rule sees it.
  static rules::BlasProduct ruleOf(const Contraction &shape);
  uint64_t bytes() const { return products.bytes(); }

private:
  // The product, into `kept` where gelu is left to a kernel, and nothing behind it.
  mpc_rt_status_t product(const ProductKey &key, const Contraction &shape,
                          const ProductOperands &operands, uint32_t &epilogue, const char *layer);
  // Kernels compute the parts that `epilogue` does not have.
  mpc_rt_status_t finish(const Contraction &shape, const ProductOperands &operands,
                         uint32_t epilogue);
  mpc_rt_status_t byKernel(const Contraction &shape, const ProductOperands &operands);

  DeviceSession &session;
  KernelTable &kernels;
  KernelLog &log;
  BlasProducts products;
  EpilogueTrials trials;
  std::map<ProductKey, ProductPlan> plans;
};

} // namespace mpc::rt::cuda

#endif
