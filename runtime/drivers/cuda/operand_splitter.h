// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands of float32 as TF32 multiplies them without losing float32's digits: one product of three
// times as many terms has low * high, high * low and high * high.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_OPERAND_SPLITTER_H
#define MPC_RUNTIME_DRIVERS_CUDA_OPERAND_SPLITTER_H

#include "runtime/drivers/cuda/kernel_table.h"
#include "runtime/drivers/cuda/product_plan.h"
#include "runtime/drivers/cuda/scratch.h"

namespace mpc::rt::cuda {

class OperandSplitter {
public:
  OperandSplitter(DeviceSession &session, KernelTable &kernels)
      : kernels(kernels), scratch(session) {}

  // Room for the operands of so many terms of a product, and where they will be.
  mpc_rt_status_t reserve(const Contraction &c, int64_t terms, ProductOperands &operands,
                          const char *layer);
  // Writes the terms [first, first + terms) of `from` there.
  mpc_rt_status_t split(const Contraction &c, int64_t first, int64_t terms,
                        const ProductOperands &from, const ProductOperands &to);
  uint64_t bytes() const { return scratch.size(); }
  // Whether the memory moved since the last call of this: recorded steps have its address.
  bool takeMoved() { return scratch.takeMoved(); }

private:
  KernelTable &kernels;
  Scratch scratch;
};

} // namespace mpc::rt::cuda

#endif
