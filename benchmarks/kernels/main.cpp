// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-benchmark-kernels: the runtime's kernels and the limits of the CPU, by Google Benchmark.
//
//   mpc-benchmark-kernels [product/DTYPE[/kept]/BATCHxMxNxK[tl][tr]]
//                         [convolution/DTYPE[/kept]/DIRECTION/SHAPE]
//                         [attention/DTYPE[/gradient]/BATCHxTARGETSxSOURCESxHEADSxWIDTH[c]]
//                         [matmul/TYPE/MxKxN] [ceilings] ...
//                         [isa/x86-64-v3] [--benchmark_...]
//
// isa/LEVEL: as on a CPU of that level; oneDNN listens to DNNL_MAX_CPU_ISA instead.
// kernels.h says what each of them is.
#include "benchmarks/kernels/kernels.h"
#include "runtime/base/cpu.h"

#include <algorithm>
#include <benchmark/benchmark.h>
#include <cstdio>
#include <iterator>
#include <map>
#include <stdexcept>

static const std::string levels[] = {"isa/x86-64-v2", "isa/x86-64-v3", "isa/x86-64-v4"};

int main(int count, char **arguments) try {
  benchmark::Initialize(&count, arguments);
  // By the kind of kernel, which its name begins with.
  using Register = void (*)(const std::vector<std::string> &, int isa);
  const std::map<std::string, Register> kinds = {
      {"product", mpc::benchmarks::registerProducts},
      {"convolution", mpc::benchmarks::registerConvolutions},
      {"attention", mpc::benchmarks::registerAttentions},
      {"matmul", [](const std::vector<std::string> &specifications, int) {
         mpc::benchmarks::registerMatmuls(specifications);
       }}};
  std::map<std::string, std::vector<std::string>> wanted;
  bool ceilings = false;
  int isa = mpc::rt::cpu().isa;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    const size_t slash = argument.find('/');
    const std::string kind = argument.substr(0, slash);
    if (slash != argument.npos && kinds.count(kind))
      wanted[kind].push_back(argument.substr(slash + 1));
    else if (const auto level = std::find(std::begin(levels), std::end(levels), argument);
             level != std::end(levels) && level - levels <= isa)
      isa = static_cast<int>(level - levels);
    else if (argument == "ceilings")
      ceilings = true;
    else
      throw std::invalid_argument(
          argument + ": expected product/..., convolution/..., attention/..., matmul/..., "
                     "ceilings, or isa/LEVEL of this CPU");
  }
  for (const auto &[kind, specifications] : wanted)
    kinds.at(kind)(specifications, isa);
  if (ceilings)
    mpc::benchmarks::registerCeilings(isa);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
} catch (const std::exception &error) {
  std::fprintf(stderr, "mpc-benchmark-kernels: error: %s\n", error.what());
  return 2;
}
