// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How fast oneDNN alone multiplies matrices of given shapes: the ceiling that a training step is
// held against. Layouts are oneDNN's own choice, so that no copy or transposition is in the figure.
//
//   mpc-benchmark-matmul M K N [M K N ...] [--type=f32|bf16] [--seconds=S]
//
// Prints a JSON array with, per shape, the median over repetitions of gigaflops per second.
#include <dnnl.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <vector>

namespace {

using dnnl::memory;
using Clock = std::chrono::steady_clock;

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

/// Median seconds of one multiplication, over at least three and `budget` seconds.
double medianSeconds(const Shape &shape, memory::data_type type, double budget) {
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
  std::vector<double> seconds;
  double total = 0;
  auto run = [&] {
    auto start = Clock::now();
    primitive.execute(stream, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}});
    stream.wait();
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  run(); // pages and code warm
  while (seconds.size() < 3 || total < budget) {
    seconds.push_back(run());
    total += seconds.back();
  }
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<long>(seconds.size() / 2),
                   seconds.end());
  return seconds[seconds.size() / 2];
}

int64_t positive(const char *text) {
  char *end = nullptr;
  long long value = std::strtoll(text, &end, 10);
  if (*end || value < 1 || value > 1 << 24)
    throw std::invalid_argument(std::string(text) + " is no extent from 1 to 16777216");
  return value;
}

} // namespace

int main(int count, char **arguments) try {
  auto type = memory::data_type::f32;
  double budget = 1;
  std::vector<int64_t> extents;
  for (int i = 1; i < count; ++i) {
    std::string argument = arguments[i];
    if (argument == "--type=f32" || argument == "--type=bf16")
      type = argument == "--type=f32" ? memory::data_type::f32 : memory::data_type::bf16;
    else if (argument.rfind("--seconds=", 0) == 0)
      budget = std::stod(argument.substr(10));
    else
      extents.push_back(positive(argument.c_str()));
  }
  if (extents.empty() || extents.size() % 3 != 0)
    throw std::invalid_argument("expected M K N for each shape");
  std::printf("[");
  for (size_t i = 0; i < extents.size(); i += 3) {
    Shape shape{extents[i], extents[i + 1], extents[i + 2]};
    double seconds = medianSeconds(shape, type, budget);
    double operations = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.k) *
                        static_cast<double>(shape.n);
    std::printf("%s{\"m\": %lld, \"k\": %lld, \"n\": %lld, \"seconds\": %.6f, \"gflops\": %.1f}",
                i ? ", " : "", static_cast<long long>(shape.m), static_cast<long long>(shape.k),
                static_cast<long long>(shape.n), seconds, operations / seconds * 1e-9);
  }
  std::printf("]\n");
  return 0;
} catch (const std::exception &error) {
  std::fprintf(stderr, "mpc-benchmark-matmul: error: %s\n", error.what());
  return 2;
}
