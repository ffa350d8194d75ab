// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel that runs on parts of the result of a contraction or convolution, as
// mpc_rt_result_kernel_t says.
#ifndef MPC_RUNTIME_DRIVERS_RESULT_KERNEL_H
#define MPC_RUNTIME_DRIVERS_RESULT_KERNEL_H

#include "mpc-rt/executable.h"
#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/rules/requantization.h"

#include <algorithm>

namespace mpc::rt {

// Numbers of 8 bits that are made of int32 sums [rows, columns], as rules::Requantization says it.
struct RequantizedSums {
  const int32_t *bias; // of the first column; null: none
  const float *scale;
  float low, high;
  int32_t offset;
  int8_t *out; // of the first sum
  int64_t stride;

  // Those from another sum on.
  RequantizedSums from(int64_t row, int64_t column) const {
    RequantizedSums result = *this;
    result.bias = bias ? bias + column : nullptr;
    result.scale += column;
    result.out += row * stride + column;
    return result;
  }
};

struct ResultKernel {
  mpc_rt_kernel_fn function;
  void *const *arguments;
  uint32_t argumentCount, result; // arguments[result] is the result
  int64_t grain;
  uint64_t requantization = 0; // rules::Requantization::word()

  // Says what a kernel with requantization makes of all sums, which have so many columns.
  RequantizedSums requantized(int64_t columns) const {
    const auto rule = rules::Requantization::of(requantization);
    return {rule.bias == rule.none ? nullptr : static_cast<const int32_t *>(arguments[rule.bias]),
            static_cast<const float *>(arguments[rule.scale]),
            static_cast<float>(rule.low),
            static_cast<float>(rule.high),
            rule.offset,
            static_cast<int8_t *>(arguments[rule.out]),
            columns};
  }
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

// Calls of both kinds have one, or none.
template <typename Call> ResultKernel resultKernelOf(const Call &call) {
  if (!call.kernel)
    return {};
  const mpc_rt_result_kernel_t &kernel = *call.kernel;
  return {kernel.function, kernel.arguments, kernel.argument_count,
          kernel.result,   kernel.grain,     call.requantization};
}

// An error status, naming the layer, for a kernel that this runtime could not call; null: none.
// `sums`: the dtype of what it reads.
template <typename Call>
mpc_rt_status_t checkResultKernel(const Call &call, mpc_rt_dtype_t sums,
                                  const char *layer) noexcept {
  const mpc_rt_result_kernel_t *kernel = call.kernel;
  if (kernel && (kernel->argument_count > MPC_RT_MAX_KERNEL_ARGUMENTS ||
                 kernel->result >= kernel->argument_count))
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: a kernel of %u arguments on argument %u; this runtime takes %d; update "
                "libmpcrt",
                layer, kernel->argument_count, kernel->result, MPC_RT_MAX_KERNEL_ARGUMENTS);
  if (call.requantization && (!kernel || sums != MPC_RT_INT32 ||
                              !rules::Requantization::of(call.requantization)
                                   .isValid(kernel->argument_count, kernel->result)))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: requantization of what is no int32 or has no kernel with its arguments",
                layer);
  return MPC_RT_OK;
}

} // namespace mpc::rt

#endif
