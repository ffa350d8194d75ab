// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `contract` service on a GPU: cuBLASLt, with plans per descriptor and batch.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_CONTRACTOR_H
#define MPC_RUNTIME_DRIVERS_CUDA_CONTRACTOR_H

#include "runtime/drivers/contraction.h"
#include "runtime/drivers/cuda/blas_products.h"
#include "runtime/drivers/cuda/epilogue_trials.h"
#include "runtime/drivers/cuda/kernel_table.h"
#include "runtime/drivers/cuda/operand_splitter.h"
#include "runtime/drivers/kernel_log.h"
#include "runtime/rules/blas_products.h"

#include <map>
#include <tuple>

namespace mpc::rt::cuda {

// The owner of a product: ids of contractions, convolutions and attentions count apart.
enum class ProductKind { contraction, convolution, attention };

// A product is one of these: kind, id of the descriptor, batch, product or piece among those of the
// descriptor.
using ProductKey = std::tuple<ProductKind, uint32_t, int64_t, int>;

// A plan is for a product as it is, or for some terms of one in three products of TF32. Those
// between the first and the last ones are alike.
enum class Terms { all, first, middle, last };

class Contractor {
public:
  Contractor(DeviceSession &session, KernelTable &kernels, AlgorithmChoices &choices,
             uint32_t fp32Precision);
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
  uint64_t bytes() const { return products.bytes() + splitter.bytes(); }
  // Whether memory moved since the last call of this: recorded steps have its address.
  bool takeMoved() { return splitter.takeMoved(); }
  // Products are planned again: other algorithms are wanted.
  void forgetPlans();

private:
  // The product, into `kept` where gelu is left to a kernel, and nothing behind it.
  mpc_rt_status_t product(const ProductKey &key, const Contraction &shape,
                          const ProductOperands &operands, uint32_t &epilogue, const char *layer);
  // The same, as products of TF32 of some terms each: the last one has the epilogue.
  mpc_rt_status_t productOfSplit(const ProductKey &key, const Contraction &shape,
                                 const ProductOperands &given, const ProductOperands &operands,
                                 uint32_t &epilogue, const char *layer);
  // The plan for these operands; made anew where it is for others.
  mpc_rt_status_t planOf(const std::pair<ProductKey, Terms> &key, const Contraction &shape,
                         const ProductOperands &given, const ProductOperands &operands,
                         const char *layer, ProductPlan *&plan);
  bool splits(const Contraction &shape) const;
  // The name in the log of kernels.
  const char *nameOf(const Contraction &shape, uint32_t epilogue) const;
  // Kernels compute the parts that `epilogue` does not have.
  mpc_rt_status_t finish(const Contraction &shape, const ProductOperands &operands,
                         uint32_t epilogue);
  mpc_rt_status_t byKernel(const Contraction &shape, const ProductOperands &operands);

  DeviceSession &session;
  KernelTable &kernels;
  AlgorithmChoices &choices;
  KernelLog &log;
  const uint32_t fp32Precision; // MPC_RT_FP32_...
  const bool splitsAll;         // MPC_CUDA_TF32X3=all: products of any size, to compare
  BlasProducts products;
  EpilogueTrials trials;
  OperandSplitter splitter;
  std::map<std::pair<ProductKey, Terms>, ProductPlan> plans;
};

} // namespace mpc::rt::cuda

#endif
