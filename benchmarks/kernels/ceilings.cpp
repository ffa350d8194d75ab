// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ceilings that no step can beat on this CPU: memory, and the micro-kernels on operands in the
// first-level cache, on as many threads as there are CPUs.
#include "benchmarks/kernels/kernels.h"
#include "runtime/base/memory.h"
#include "runtime/drivers/cpu/kernels/micro_kernel.h"

#include <algorithm>
#include <benchmark/benchmark.h>
#include <thread>

using namespace mpc::rt;

namespace {

__attribute__((noinline)) void add(float *__restrict a, const float *__restrict b,
                                   const float *__restrict c, size_t count) {
  for (size_t i = 0; i < count; ++i)
    a[i] = b[i] + 0.5f * c[i];
}

// a = b + s * c of three arrays, each larger than the caches.
void triad(benchmark::State &state) {
  constexpr size_t count = 32 << 20;
  Buffer buffers[3];
  float *arrays[3];
  for (int i = 0; i < 3; ++i) {
    reserve(buffers[i], count * sizeof(float));
    arrays[i] = reinterpret_cast<float *>(buffers[i].data());
    std::fill_n(arrays[i], count, 1.0f);
  }
  for (auto _ : state)
    add(arrays[0], arrays[1], arrays[2], count);
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * 3 * count * sizeof(float)));
}

void multiply(benchmark::State &state, const MicroKernel &kernel) {
  constexpr int64_t cached = 24 << 10; // half of a first-level cache
  const int64_t steps =
      std::min(kernel.steps, cached / (kernel.lhsStepBytes + kernel.rhsStepBytes));
  Buffer panels, sums;
  const auto lhsBytes = static_cast<uint64_t>(steps * kernel.lhsStepBytes);
  const auto rhsBytes = static_cast<uint64_t>(steps * kernel.rhsStepBytes);
  reserve(panels, alignUp(lhsBytes) + rhsBytes);
  reserve(sums, static_cast<uint64_t>(kernel.rows * kernel.columns) * sizeof(float));
  // Whatever was in memory might be numbers that a CPU multiplies slowly.
  std::fill_n(reinterpret_cast<float *>(panels.data()), panels.size() / sizeof(float), 0.0f);
  std::fill_n(reinterpret_cast<float *>(sums.data()), sums.size() / sizeof(float), 0.0f);
  MicroTile tile = {};
  tile.lhs = panels.data();
  tile.rhs = panels.data() + alignUp(lhsBytes);
  tile.steps = steps;
  tile.sums = reinterpret_cast<float *>(sums.data());
  tile.sumStride = kernel.columns;
  alignas(64) uint8_t cpuState[microKernelStateBytes];
  kernel.enter(cpuState);
  for (auto _ : state)
    kernel.multiply(tile);
  kernel.leave(cpuState);
  const auto terms = static_cast<double>(kernel.rows * kernel.columns * steps * kernel.depth);
  // The counter covers all threads together; an invariant one would be counted once more per
  // thread.
  state.counters["flops"] = benchmark::Counter(2 * terms * static_cast<double>(state.iterations()),
                                               benchmark::Counter::kIsRate);
}

} // namespace

void mpc::benchmarks::registerCeilings(int isa) {
  const int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  benchmark::RegisterBenchmark("triad", triad)->Threads(threads)->UseRealTime();
  for (const MicroKernel *kernel : {bfloat16MicroKernel(isa), float32MicroKernel(isa)})
    if (kernel)
      benchmark::RegisterBenchmark((std::string("peak/") + kernel->name).c_str(),
                                   [kernel](benchmark::State &state) { multiply(state, *kernel); })
          ->Threads(threads)
          ->UseRealTime();
}
