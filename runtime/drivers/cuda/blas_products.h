// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products by cuBLASLt: their descriptions, the choice of an algorithm, and the call.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_BLAS_PRODUCTS_H
#define MPC_RUNTIME_DRIVERS_CUDA_BLAS_PRODUCTS_H

#include "runtime/drivers/cuda/algorithm_cache.h"
#include "runtime/drivers/cuda/device_session.h"
#include "runtime/drivers/cuda/product_plan.h"

#include <string>

namespace mpc::rt::cuda {

class BlasProducts {
public:
  explicit BlasProducts(DeviceSession &session)
      : session(session), workspace(session, Memory::Kind::device) {}
  // The owner has released all plans.
  ~BlasProducts();
  BlasProducts(const BlasProducts &) = delete;
  BlasProducts &operator=(const BlasProducts &) = delete;

  // Opens the library and takes its workspace.
  mpc_rt_status_t open();
  // Describes the product without an epilogue, anew.
  mpc_rt_status_t describe(ProductPlan &plan, const char *layer) const;
  // Adds these parts, and the bias that the product has.
  mpc_rt_status_t setEpilogue(ProductPlan &plan, uint32_t epilogue, const ProductOperands &operands,
                              const char *layer) const;
  // The algorithm of a described plan: what was chosen before for such a product, else what the
  // library's heuristic says.
  mpc_rt_status_t choose(ProductPlan &plan, const char *layer);
  // The product and its epilogue, on the stream.
  mpc_rt_status_t issue(const ProductPlan &plan, const ProductOperands &operands,
                        const char *layer) const;
  void release(ProductPlan &plan) const;
  // Everything that the choice depends on.
  std::string keyOf(const ProductPlan &plan) const;
  uint64_t bytes() const { return workspace.size(); }

  AlgorithmCache algorithms;

private:
  // Sets the memory that an epilogue reads or writes beside the result: bits of relu, or arguments
  // of gelu.
  mpc_rt_status_t setBeside(const ProductPlan &plan, const ProductOperands &operands,
                            const char *layer) const;
  mpc_rt_status_t setSums(const ProductPlan &plan, const ProductOperands &operands,
                          const char *layer) const;
  bool chooseKnown(ProductPlan &plan, const std::string &key) const;
  int askHeuristic(ProductPlan &plan, int &found) const;
  mpc_rt_status_t check(int result, const char *layer, const char *what) const;

  DeviceSession &session;
  const lt::Api *blas = nullptr;
  lt::Handle handle = nullptr;
  Memory workspace;
};

} // namespace mpc::rt::cuda

#endif
