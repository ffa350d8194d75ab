// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One convolution with operands whose sums are exact in float32 in any order (small integers), so
// that a driver's result is compared bit by bit; the bias has fractions, so that both roundings of
// mpc_rt_convolution_t matter.
#ifndef MPC_RUNTIME_CTS_CONVOLUTION_CASE_H
#define MPC_RUNTIME_CTS_CONVOLUTION_CASE_H

#include "mpc-rt/executable.h"
#include "runtime/cts/elements.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mpc::rt::cts {

struct ConvolutionCase {
  mpc_rt_convolution_direction_t direction = MPC_RT_CONVOLUTION_FORWARD;
  mpc_rt_dtype_t lhs = MPC_RT_FLOAT32, rhs = MPC_RT_FLOAT32, out = MPC_RT_FLOAT32;
  mpc_rt_dtype_t bias = MPC_RT_FLOAT32;
  bool hasBias = false, relu = false;
  int64_t batch = 1, groups = 1, channels = 1, filters = 1;
  std::vector<int64_t> images, kernel, strides, dilations, low, high;
  uint64_t seed = 1;
  int32_t rhsVariable = -1;

  // The extents of the forward convolution's outputs.
  std::vector<int64_t> outputs() const;
  int64_t multiplications() const; // those with padding included
  mpc_rt_convolution_t descriptor(uint32_t id) const;
  std::string text() const;
};

struct ConvolutionData {
  explicit ConvolutionData(const ConvolutionCase &c);
  // Sums whose order shows in their last bits.
  void fillWithFractions(uint32_t seed);
  // Into one element of lhs, or of rhs.
  void putInfinity(bool intoLhs, uint32_t seed);
  // The result that the contract asks for, from the operands as they are now.
  std::vector<uint8_t> expected(Roundings roundings = Roundings::each) const;
  // The first element of `out` that differs from expected(), NaN equal to NaN; "" if none.
  std::string difference(Roundings roundings = Roundings::each) const;

  ConvolutionCase shape;
  std::vector<uint8_t> lhs, rhs, bias, out, initial;
};

} // namespace mpc::rt::cts

#endif
