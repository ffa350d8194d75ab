// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A launch of so many threads fills a GPU: as a stage it would have to do with those that fit with
// the registers of the hungriest one.
#include "mpc/Analysis/LaunchWidth.h"
#include "mpc-rt/cuda.h"
#include "mpc/Analysis/BatchExtent.h"

using namespace mlir;
using namespace mpc;

static constexpr int64_t kWideThreads = MPC_RT_CUDA_WIDE_THREADS, kLargeBatch = 16384;

LaunchWidth mpc::launchWidthOf(mpcrt::LaunchOp launch, unsigned lanes) {
  const auto count = evaluateIndex(launch.getCount());
  auto threads = [&](int64_t batch) {
    return count ? (count->fixed + batch * count->perSample) * lanes : 0;
  };
  if (threads(0) >= kWideThreads)
    return LaunchWidth::wide;
  return threads(kLargeBatch) >= kWideThreads ? LaunchWidth::wideForLargeBatch
                                              : LaunchWidth::narrow;
}
