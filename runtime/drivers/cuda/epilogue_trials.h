// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Epilogues of cuBLASLt. Some of its properties are documented nowhere, so that they
// are tried with the product itself, when its plan is made.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_EPILOGUE_TRIALS_H
#define MPC_RUNTIME_DRIVERS_CUDA_EPILOGUE_TRIALS_H

#include "runtime/drivers/cuda/blas_products.h"
#include "runtime/drivers/cuda/kernel_table.h"

#include <vector>

namespace mpc::rt::cuda {

class EpilogueTrials {
public:
  EpilogueTrials(DeviceSession &session, KernelTable &kernels, BlasProducts &products)
      : session(session), kernels(kernels), products(products) {}

  // A description and an algorithm with as much in the epilogue as the library has and does as it
  // should.
  mpc_rt_status_t choose(ProductPlan &plan, const ProductOperands &operands, const char *layer);

private:
  // Whether relu leaves NaN as it is, which bits it makes, and what it makes of those that it is
  // given; what gelu and its derivative make of numbers where approximations differ
  // (epilogue_trials.cpp); whether sums of columns are those of all rows, as they are in memory
  // (column_sums_trial.cpp).
  bool keepsNaN(const ProductPlan &plan, ProductOperands operands);
  bool makesBits(const ProductPlan &plan, ProductOperands operands);
  bool followsBits(const ProductPlan &plan, ProductOperands operands);
  bool appliesGelu(const ProductPlan &plan, ProductOperands operands);
  bool appliesGeluGradient(const ProductPlan &plan, ProductOperands operands);
  bool sumsColumns(const ProductPlan &plan, ProductOperands operands);
  // The trial of sums writes its right operand so, whose rows repeat before the last one.
  bool writeRows(const ProductPlan &plan, const Memory &rhs, const std::vector<uint8_t> &repeated,
                 const std::vector<uint8_t> &last) const;
  // Whether the library's derivative of relu costs less than a kernel behind the product: for some
  // dtypes it has none in its products and passes over the result with a slow one
  // (epilogue_times.cpp).
  bool isWorthwhile(const ProductPlan &plan, const ProductOperands &operands, const char *layer);
  bool issueKnown(const ProductPlan &plan, ProductOperands operands,
                  const std::vector<double> &first);
  mpc_rt_status_t issueAlone(const ProductPlan &plan, const ProductOperands &operands);
  bool readBack(void *host, const void *device, uint64_t bytes);

  DeviceSession &session;
  KernelTable &kernels;
  BlasProducts &products;
};

} // namespace mpc::rt::cuda

#endif
