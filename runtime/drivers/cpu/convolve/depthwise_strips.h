// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which pixels of a row share so much of what their windows meet that they are computed together.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_DEPTHWISE_STRIPS_H
#define MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_DEPTHWISE_STRIPS_H

#include "runtime/drivers/convolution.h"
#include "runtime/drivers/cpu/convolve/depthwise_kernels.h"
#include "runtime/drivers/cpu/convolve/windows.h"

#include <vector>

namespace mpc::rt {

// Strips of one form.
struct DepthwiseStrips {
  DepthwiseForm form;
  std::vector<DepthwiseStrip> strips;
};

// Covers the pixels along dimension `d`: strips, and windows that are computed one by one.
struct DepthwiseCover {
  std::vector<DepthwiseStrips> strips;
  std::vector<WindowClass> others;
};

DepthwiseCover coverByStrips(const Convolution &shape, size_t d, const DepthwiseKernels &kernels);

} // namespace mpc::rt

#endif
