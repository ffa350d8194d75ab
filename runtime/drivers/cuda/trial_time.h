// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How long something takes on the GPU, where there are two ways to do it.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_TRIAL_TIME_H
#define MPC_RUNTIME_DRIVERS_CUDA_TRIAL_TIME_H

#include "runtime/drivers/cuda/device_session.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>

namespace mpc::rt::cuda {

// Whether work of so many multiplications and additions is worth a trial: of less, launches are
// most of the time. MPC_CUDA_TRIALS=off: nothing is, what comes first is taken; =all: everything
// is.
inline bool isWorthTrial(double operations) {
  constexpr double few = 1 << 28;
  const char *setting = std::getenv("MPC_CUDA_TRIALS");
  const std::string_view choice = setting ? setting : "";
  return choice != "off" && (choice == "all" || operations >= few);
}

// Ways whose times are closer than this factor are equally fast: the one that comes first is taken,
// on every GPU of a kind and in every process.
constexpr double clearlySlower = 1.15;

constexpr int trialCalls = 4;

// Seconds of the fastest of a few calls of `issue`, which puts work on the session's stream: the
// first one may load kernels. False when one fails.
template <typename Issue> bool timeOnStream(DeviceSession &session, Issue issue, double &seconds) {
  for (int call = 0; call < trialCalls; ++call) {
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
