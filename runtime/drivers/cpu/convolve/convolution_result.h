// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the result of a convolution goes, and the kernel that runs on each part of it while that is
// in a cache.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_CONVOLUTION_RESULT_H
#define MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_CONVOLUTION_RESULT_H

#include "runtime/drivers/cpu/kernels/work_blocks.h"
#include "runtime/drivers/result_kernel.h"

namespace mpc::rt {

struct ConvolutionResult {
  mpc_rt_dtype_t dtype = 0;
  // The elements from `first` on. Null: the kernel consumes them, so that who computes them has
  // memory for a part.
  void *values = nullptr;
  int64_t first = 0;
  const ResultKernel *kernel = nullptr; // or null

  // Whether all that is wanted are numbers of 8 bits, made of sums.
  bool isRequantized() const { return kernel && kernel->requantization && !values; }
  uint8_t *at(int64_t element) const {
    return const_cast<uint8_t *>(rt::at(values, element, dtype));
  }
  // A part of the work sees the result from `element` on.
  ConvolutionResult from(int64_t element) const {
    return {dtype, values ? at(element) : nullptr, first + element, kernel};
  }
  // The elements [begin, end) are complete, at `there`, whole rows of the last dimension.
  void finish(const void *there, int64_t begin, int64_t end) const {
    if (kernel)
      kernel->run(there, dtype, first + begin, first + end);
  }
  // So many are complete, and all threads are free.
  template <typename Team> void finishAll(Team &team, int64_t count) const {
    if (kernel)
      kernel->run(team, values, dtype, first, count);
  }
};

} // namespace mpc::rt

#endif
