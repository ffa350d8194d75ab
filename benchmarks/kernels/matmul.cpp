// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How fast oneDNN alone multiplies matrices: a ceiling that training steps are held against.
#include "benchmarks/kernels/kernels.h"

#include <benchmark/benchmark.h>
#include <cstdlib>
#include <cstring>
#include <dnnl.hpp>
#include <new>
#include <stdexcept>
#include <sys/mman.h>

using dnnl::memory;

namespace {

struct Shape {
  int64_t m, k, n;
};

/// Memory of large pages where the system has them, as the runtime's arena: with small ones the
/// products of weight gradients took 5 and 16 % longer in two runs.
class Operand {
public:
  Operand(const memory::desc &description, dnnl::engine &engine)
      : bytes((description.get_size() + pageBytes - 1) / pageBytes * pageBytes),
        data(std::aligned_alloc(pageBytes, bytes)),
        operand(description, engine, data ? data : throw std::bad_alloc()) {
    madvise(data, bytes, MADV_HUGEPAGE);
    // Zeros would be fast on no CPU that we know, but subnormal garbage would be slow.
    std::memset(data, 0x3c, bytes);
  }
  ~Operand() { std::free(data); }
  Operand(const Operand &) = delete;
  Operand &operator=(const Operand &) = delete;

  operator const memory &() const { return operand; }

private:
  static constexpr size_t pageBytes = 2 << 20;
  size_t bytes;
  void *data;
  memory operand;
};

void multiply(benchmark::State &state, const Shape &shape, memory::data_type type) try {
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  auto any = memory::format_tag::any;
  dnnl::matmul::primitive_desc descriptor({{{shape.m, shape.k}, type, any},
                                           {{shape.k, shape.n}, type, any},
                                           {{shape.m, shape.n}, type, any}},
                                          engine);
  Operand a(descriptor.src_desc(), engine), b(descriptor.weights_desc(), engine),
      c(descriptor.dst_desc(), engine);
  dnnl::matmul primitive(descriptor);
  auto once = [&] {
    primitive.execute(stream, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}});
    stream.wait();
  };
  once(); // pages and code warm
  for (auto _ : state)
    once();
  const auto terms =
      static_cast<double>(shape.m) * static_cast<double>(shape.k) * static_cast<double>(shape.n);
  state.counters["flops"] =
      benchmark::Counter(2 * terms, benchmark::Counter::kIsIterationInvariantRate);
} catch (const dnnl::error &error) {
  state.SkipWithError(error.what());
}

} // namespace

void mpc::benchmarks::registerMatmuls(const std::vector<std::string> &specifications) {
  for (const std::string &specification : specifications) {
    const size_t slash = specification.find('/');
    const std::string type = specification.substr(0, slash);
    long long m = 0, k = 0, n = 0;
    int read = 0;
    if (slash == specification.npos || (type != "f32" && type != "bf16") ||
        std::sscanf(specification.c_str() + slash + 1, "%lldx%lldx%lld%n", &m, &k, &n, &read) !=
            3 ||
        slash + 1 + static_cast<size_t>(read) != specification.size() || m < 1 || k < 1 || n < 1)
      throw std::invalid_argument("matmul/" + specification + ": expected f32/MxKxN or bf16/MxKxN");
    const Shape shape{m, k, n};
    const auto dtype = type == "f32" ? memory::data_type::f32 : memory::data_type::bf16;
    benchmark::RegisterBenchmark(("matmul/" + specification).c_str(), [shape, dtype](
                                                                          benchmark::State &state) {
      multiply(state, shape, dtype);
    })->UseRealTime();
  }
}
