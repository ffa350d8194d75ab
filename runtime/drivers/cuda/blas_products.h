// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products by cuBLASLt: their descriptions, the choice of an algorithm, and the call.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_BLAS_PRODUCTS_H
#define MPC_RUNTIME_DRIVERS_CUDA_BLAS_PRODUCTS_H

#include "runtime/drivers/cuda/algorithm_cache.h"
#include "runtime/drivers/cuda/algorithm_choices.h"
#include "runtime/drivers/cuda/device_session.h"
#include "runtime/drivers/cuda/product_plan.h"

#include <string>
#include <vector>

namespace mpc::rt::cuda {

class BlasProducts {
public:
  BlasProducts(DeviceSession &session, AlgorithmChoices &choices)
      : session(session), choices(choices), workspace(session, Memory::Kind::device) {}
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
  // The algorithm of a described plan: what was measured for such a product or is measured now,
  // else what the library's heuristic says.
  mpc_rt_status_t choose(ProductPlan &plan, const ProductOperands &operands, const char *layer);
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
  mpc_rt_status_t takeMeasured(ProductPlan &plan, const AlgorithmChoice &choice,
                               const std::string &key, const char *layer) const;
  bool isTaken(const ProductPlan &plan, const lt::Algorithm &algorithm,
               lt::Heuristic &result) const;
  int askHeuristic(const ProductPlan &plan, size_t wanted, std::vector<lt::Heuristic> &found) const;
  // Chooses the fastest of the heuristic's algorithms; false where nothing was chosen. Each run
  // overwrites the parts of an epilogue, but not the result (algorithm_trials.cpp).
  bool measure(ProductPlan &plan, ProductOperands operands, const std::string &key,
               const char *layer);
  bool sumsInOrder(const lt::Algorithm &algorithm) const;
  bool givesEqualBytes(const ProductPlan &plan, const ProductOperands &operands,
                       const char *layer) const;
  bool readResult(const ProductPlan &plan, const ProductOperands &operands,
                  std::vector<uint8_t> &result, const char *layer) const;
  mpc_rt_status_t check(int result, const char *layer, const char *what) const;

  static constexpr size_t mostAlgorithms = 16;

  DeviceSession &session;
  AlgorithmChoices &choices;
  const lt::Api *blas = nullptr;
  lt::Handle handle = nullptr;
  Memory workspace;
};

} // namespace mpc::rt::cuda

#endif
