// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product as cuBLASLt is to multiply it, and what a call has for it.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_PRODUCT_PLAN_H
#define MPC_RUNTIME_DRIVERS_CUDA_PRODUCT_PLAN_H

#include "runtime/drivers/contraction.h"
#include "runtime/drivers/cuda/cublaslt_api.h"

#include <array>

namespace mpc::rt::cuda {

// Whether an epilogue has this part.
inline bool does(uint32_t epilogue, lt::Epilogue part) { return (epilogue & part) == part; }

// Everything of a product but its addresses.
struct ProductPlan {
  Contraction shape;
  bool inTf32 = false; // operands of float32 may be rounded to TF32
  lt::MatmulDesc desc = nullptr;
  lt::Layout a = nullptr, b = nullptr, d = nullptr;
  lt::Heuristic choice = {};
  uint32_t epilogue = lt::epilogueDefault; // what the product does; kernels do the rest
  lt::DataType factors = lt::r32f;         // type of the sums' factors
  std::array<uint32_t, 4> alignments = {}; // of lhs, rhs, out and sums, in bytes
};

struct ProductOperands {
  const void *lhs, *rhs, *bias;
  void *out;
  ReluBits bits;
  GeluArguments gelu = {};
  void *sums = nullptr; // of the columns of rhs
};

} // namespace mpc::rt::cuda

#endif
