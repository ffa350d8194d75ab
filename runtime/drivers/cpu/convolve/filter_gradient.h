// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients of convolutions' filters by a micro-kernel, on channels-last images.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_FILTER_GRADIENT_H
#define MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_FILTER_GRADIENT_H

#include <cstdint>

namespace mpc::rt {

class FilterGradient {
public:
  virtual ~FilterGradient() = default;
  // Operands and result as mpc_rt_convolution_t orders them.
  virtual void run(const void *images, const void *outputs, void *out) = 0;
  // The memory that it keeps for run().
  virtual uint64_t bytes() const = 0;
};

} // namespace mpc::rt

#endif
