// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One contraction with operands whose sums are exact in float32 in any order (small integers), so
// that a driver's result is compared bit by bit; the bias has fractions, so that both roundings of
// mpc_rt_contract_t matter.
#ifndef MPC_RUNTIME_CTS_CONTRACTION_CASE_H
#define MPC_RUNTIME_CTS_CONTRACTION_CASE_H

#include "mpc-rt/executable.h"
#include "runtime/cts/elements.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mpc::rt::cts {

struct ContractionCase {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  mpc_rt_dtype_t lhs = MPC_RT_FLOAT32, rhs = MPC_RT_FLOAT32, out = MPC_RT_FLOAT32;
  mpc_rt_dtype_t bias = MPC_RT_FLOAT32;
  bool hasBias = false, relu = false, transposeLhs = false, transposeRhs = false;
  bool accumulate = false;
  bool packedRhs = false; // int8 with two numbers per byte
  uint64_t seed = 1;
  int32_t rhsVariable = -1;

  mpc_rt_contract_t descriptor(uint32_t id) const;
  std::string text() const;
};

struct ContractionData {
  explicit ContractionData(const ContractionCase &c);
  // The right operand as the descriptor says that it is stored.
  std::vector<uint8_t> &storedRhs();
  // The result that the contract asks for, from the operands as they are now.
  std::vector<uint8_t> expected(Roundings roundings = Roundings::each) const;
  // The first element of `out` that differs from expected(), NaN equal to NaN; "" if none.
  std::string difference(Roundings roundings = Roundings::each) const;
  // The largest bit pattern in `out`, signs left away.
  uint64_t largest() const;

  ContractionCase shape;
  std::vector<uint8_t> lhs, rhs, bias, out, initial;

private:
  std::vector<uint8_t> packed;
};

} // namespace mpc::rt::cts

#endif
