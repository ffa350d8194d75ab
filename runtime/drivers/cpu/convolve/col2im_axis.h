// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The offsets of GEMM + col2im along one dimension: each pixel of a wide operand (many channels)
// meets all taps of a filter, and so some pixels of a narrow one (few).
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_COL2IM_AXIS_H
#define MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_COL2IM_AXIS_H

#include "runtime/drivers/convolution.h"

#include <vector>

namespace mpc::rt {

// Wide pixel p and tap t meet the narrow pixel p * stride + offsets[t], where there is one.
struct Col2imAxis {
  int64_t wide, narrow, stride;
  std::vector<int64_t> offsets;
  int64_t least, most; // of them
};

// In the gradient of an input the images are the narrow operand, otherwise the outputs, which then
// are neighbours where windows are (strides of 1).
Col2imAxis col2imAxis(const Convolution &shape, size_t d);

} // namespace mpc::rt

#endif
