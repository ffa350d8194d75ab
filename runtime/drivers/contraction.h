// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A contraction descriptor with its extents evaluated for one batch, checked.
#ifndef MPC_RUNTIME_DRIVERS_CONTRACTION_H
#define MPC_RUNTIME_DRIVERS_CONTRACTION_H

#include "mpc-rt/executable.h"
#include "mpc-rt/status.h"

#include <tuple>

namespace mpc::rt {

struct Contraction {
  int64_t batch = 0, m = 0, n = 0, k = 0;
  mpc_rt_dtype_t lhs = 0, rhs = 0, out = 0, bias = 0;
  bool transposeLhs = false, transposeRhs = false, accumulate = false, relu = false;
  bool hasBias = false;
  bool packedRhs = false; // two numbers per byte

  bool operator==(const Contraction &other) const {
    auto fields = [](const Contraction &c) {
      return std::tie(c.batch, c.m, c.n, c.k, c.lhs, c.rhs, c.out, c.bias, c.transposeLhs,
                      c.transposeRhs, c.accumulate, c.relu, c.hasBias, c.packedRhs);
    };
    return fields(*this) == fields(other);
  }

  uint64_t lhsElements() const { return static_cast<uint64_t>(batch * m * k); }
  uint64_t rhsElements() const { return static_cast<uint64_t>(batch * k * n); }
  uint64_t outElements() const { return static_cast<uint64_t>(batch * m * n); }
};

// Scales of packed weights: (weight - zero) * scale, rounded to the lhs dtype, of the block that
// each row is in.
struct BlockScales {
  const void *scale = nullptr;   // [count, n] of the lhs dtype
  const int8_t *zero = nullptr;  // [count, n]
  const float *places = nullptr; // [k]: block of each row
  int64_t count = 0;

  int64_t blockOf(int64_t row) const { return static_cast<int64_t>(places[row]); }
};

// INVALID_ARGUMENT, naming the layer, for a descriptor that no driver could run: unknown dtypes or
// flags, negative or overflowing extents, missing operands.
mpc_rt_status_t resolveContraction(const mpc_rt_contract_t &descriptor, const void *lhs,
                                   const void *rhs, const void *bias, const void *out,
                                   int64_t batch, Contraction &result) noexcept;
// The same of packed weights in blocks.
mpc_rt_status_t resolveBlocks(const mpc_rt_contract_t &descriptor, const void *lhs, const void *rhs,
                              const BlockScales &blocks, const void *bias, const void *out,
                              int64_t batch, Contraction &result) noexcept;

} // namespace mpc::rt

#endif
