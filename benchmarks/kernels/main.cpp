// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-benchmark-kernels: the runtime's kernels and the limits of the CPU, by Google Benchmark.
//
//   mpc-benchmark-kernels [product/DTYPE[/kept]/BATCHxMxNxK[tl][tr]] [matmul/TYPE/MxKxN] [ceilings]
//   ...
//                         [--benchmark_...]
//
// kernels.h says what each of them is.
#include "kernels.h"

#include <benchmark/benchmark.h>
#include <cstdio>
#include <stdexcept>

int main(int count, char **arguments) try {
  benchmark::Initialize(&count, arguments);
  std::vector<std::string> products, matmuls;
  bool ceilings = false;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    const size_t slash = argument.find('/');
    const std::string kind = argument.substr(0, slash);
    if (slash != argument.npos && kind == "product")
      products.push_back(argument.substr(slash + 1));
    else if (slash != argument.npos && kind == "matmul")
      matmuls.push_back(argument.substr(slash + 1));
    else if (argument == "ceilings")
      ceilings = true;
    else
      throw std::invalid_argument(argument + ": expected product/..., matmul/... or ceilings");
  }
  mpc::benchmarks::registerProducts(products);
  mpc::benchmarks::registerMatmuls(matmuls);
  if (ceilings)
    mpc::benchmarks::registerCeilings();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
} catch (const std::exception &error) {
  std::fprintf(stderr, "mpc-benchmark-kernels: error: %s\n", error.what());
  return 2;
}
