// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel that runs on parts of the result of a contraction or convolution, as
// mpc_rt_result_kernel_t says.
#ifndef MPC_RUNTIME_DRIVERS_RESULT_KERNEL_H
#define MPC_RUNTIME_DRIVERS_RESULT_KERNEL_H

#include "mpc-rt/executable.h"
#include "runtime/base/dtype.h"
#include "runtime/base/status.h"

#include <algorithm>

namespace mpc::rt {

struct ResultKernel {
  mpc_rt_kernel_fn function;
  void *const *arguments;
  uint32_t argumentCount, result; // arguments[result] is the result
  int64_t grain;

  // The elements [begin, end) of the result, of `dtype`, stand at `values` instead.
  void run(const void *values, mpc_rt_dtype_t dtype, int64_t begin, int64_t end) const {
    void *own[MPC_RT_MAX_KERNEL_ARGUMENTS];
    std::copy_n(arguments, argumentCount, own);
    own[result] = reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(values) -
                                           static_cast<uintptr_t>(begin) * dtypeSize(dtype));
    function(own, begin, end);
  }
  // `count` elements from `first` on, at `values`, by `team`.
  template <typename Team>
  void run(Team &team, const void *values, mpc_rt_dtype_t dtype, int64_t first,
           int64_t count) const {
    team.forRange(count, grain, [&](int64_t begin, int64_t end) {
      run(static_cast<const uint8_t *>(values) + static_cast<size_t>(begin) * dtypeSize(dtype),
          dtype, first + begin, first + end);
    });
  }
  // All of it, at `values`, by `team`.
  template <typename Team> void run(Team &team, void *values, uint64_t elements) const {
    void *own[MPC_RT_MAX_KERNEL_ARGUMENTS];
    std::copy_n(arguments, argumentCount, own);
    own[result] = values;
    team.parallelFor(function, own, static_cast<int64_t>(elements), grain);
  }
};

inline ResultKernel resultKernelOf(const mpc_rt_result_kernel_t &kernel) {
  return {kernel.function, kernel.arguments, kernel.argument_count, kernel.result, kernel.grain};
}

// An error status, naming the layer, for a kernel that this runtime could not call; null: none.
inline mpc_rt_status_t checkResultKernel(const mpc_rt_result_kernel_t *kernel,
                                         const char *layer) noexcept {
  if (kernel && (kernel->argument_count > MPC_RT_MAX_KERNEL_ARGUMENTS ||
                 kernel->result >= kernel->argument_count))
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: a kernel of %u arguments on argument %u; this runtime takes %d; update "
                "libmpcrt",
                layer, kernel->argument_count, kernel->result, MPC_RT_MAX_KERNEL_ARGUMENTS);
  return MPC_RT_OK;
}

} // namespace mpc::rt

#endif
