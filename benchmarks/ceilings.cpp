// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What no step can beat on this CPU: memory, and the micro-kernels on operands in the first-level
// cache.
//
//   mpc-benchmark-ceilings [--seconds=S]
//
// Prints {"triad_gb_per_s": ..., "kernels": {NAME: GFLOP/s}}, of all CPUs together. The triad
// a = b + s * c counts three arrays, each larger than the caches.
#include "runtime/base/cpu.h"
#include "runtime/base/memory.h"
#include "runtime/drivers/cpu/micro_kernel.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace mpc::rt;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The sum of what all threads get done per second, each for `budget` seconds.
double onAllCpus(const std::function<double(double budget)> &rate, double budget) {
  std::vector<double> rates(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::thread> threads;
  for (double &own : rates)
    threads.emplace_back([&] { own = rate(budget); });
  double sum = 0;
  for (size_t i = 0; i < threads.size(); ++i) {
    threads[i].join();
    sum += rates[i];
  }
  return sum;
}

double triad(double budget) {
  constexpr size_t count = 32 << 20;
  Buffer buffers[3];
  float *arrays[3];
  for (int i = 0; i < 3; ++i) {
    reserve(buffers[i], count * sizeof(float));
    arrays[i] = reinterpret_cast<float *>(buffers[i].data());
    std::fill_n(arrays[i], count, 1.0f);
  }
  double best = 0;
  for (const auto start = Clock::now(); since(start) < budget;) {
    const auto begin = Clock::now();
    for (size_t i = 0; i < count; ++i)
      arrays[0][i] = arrays[1][i] + 0.5f * arrays[2][i];
    best = std::max(best, 3.0 * count * sizeof(float) / since(begin));
  }
  return best;
}

double multiply(const MicroKernel &kernel, double budget) {
  constexpr int64_t cached = 24 << 10; // half of a first-level cache
  const int64_t steps =
      std::min(kernel.steps, cached / (kernel.lhsStepBytes + kernel.rhsStepBytes));
  Buffer panels, sums;
  const auto lhsBytes = static_cast<uint64_t>(steps * kernel.lhsStepBytes);
  const auto rhsBytes = static_cast<uint64_t>(steps * kernel.rhsStepBytes);
  reserve(panels, alignUp(lhsBytes) + rhsBytes);
  reserve(sums, static_cast<uint64_t>(kernel.rows * kernel.columns) * sizeof(float));
  MicroTile tile = {};
  tile.lhs = panels.data();
  tile.rhs = panels.data() + alignUp(lhsBytes);
  tile.steps = steps;
  tile.sums = reinterpret_cast<float *>(sums.data());
  tile.sumStride = kernel.columns;
  alignas(64) uint8_t state[microKernelStateBytes];
  kernel.enter(state);
  constexpr int calls = 10000;
  double best = 0;
  for (const auto start = Clock::now(); since(start) < budget;) {
    const auto begin = Clock::now();
    for (int i = 0; i < calls; ++i)
      kernel.multiply(tile);
    best = std::max(best, calls / since(begin));
  }
  kernel.leave(state);
  return best * 2.0 * static_cast<double>(kernel.rows * kernel.columns * steps * kernel.depth);
}

} // namespace

int main(int count, char **arguments) try {
  double budget = 0.5;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument.rfind("--seconds=", 0) != 0)
      throw std::invalid_argument(argument + ": expected --seconds=S");
    budget = std::stod(argument.substr(10));
  }
  std::printf("{\"triad_gb_per_s\": %.1f, \"kernels\": {", onAllCpus(triad, budget) / 1e9);
  const char *comma = "";
  for (const MicroKernel *kernel : {bfloat16MicroKernel(cpu().isa), float32MicroKernel(cpu().isa)})
    if (kernel) {
      double rate =
          onAllCpus([&](double seconds) { return multiply(*kernel, seconds); }, budget) / 1e9;
      std::printf("%s\"%s\": %.0f", comma, kernel->name, rate);
      comma = ", ";
    }
  std::printf("}}\n");
  return 0;
} catch (const std::exception &error) {
  std::fprintf(stderr, "mpc-benchmark-ceilings: error: %s\n", error.what());
  return 2;
}
