// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How long something takes on the GPU, where there are two ways to do it.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_TRIAL_TIME_H
#define MPC_RUNTIME_DRIVERS_CUDA_TRIAL_TIME_H

#include "runtime/drivers/cuda/device_session.h"

#include <algorithm>
#include <chrono>

namespace mpc::rt::cuda {

// Work of fewer multiplications and additions is not worth a trial: launches are most of its time.
constexpr double fewOperations = 1 << 28;

// Ways whose times are closer than this factor are equally fast: the one that comes first is taken,
// on every GPU of a kind and in every process.
constexpr double clearlySlower = 1.15;

// Seconds of the fastest of a few calls of `issue`, which puts work on the session's stream: the
// first one may load kernels. False when one fails.
template <typename Issue> bool timeOnStream(DeviceSession &session, Issue issue, double &seconds) {
  constexpr int calls = 4;
  for (int call = 0; call < calls; ++call) {
    const auto start = std::chrono::steady_clock::now();
    if (issue() != MPC_RT_OK || session.synchronize() != MPC_RT_OK)
      return false;
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    seconds = call == 0 ? taken.count() : std::min(seconds, taken.count());
  }
  return true;
}

} // namespace mpc::rt::cuda

#endif
