// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The runtime's contractions with and without its own micro-kernels: everything that a step pays
// for a product, packing and rounding of the result included.
//
//   mpc-benchmark-contractions DTYPE[/kept] BATCHxMxNxK[tl][tr] ... [--seconds=S]
//
// tl, tr: lhs or rhs is stored transposed. kept: weights that do not change, packed before. Prints
// a JSON array with, per shape, the medians in seconds of oneDNN, of the micro-kernel whether or
// not it is used, and of what the runtime chooses.
#include "mpc-rt/status.h"
#include "runtime/base/cpu.h"
#include "runtime/base/dtype.h"
#include "runtime/base/memory.h"
#include "runtime/drivers/contraction.h"
#include "runtime/drivers/cpu/contractor.h"
#include "runtime/drivers/cpu/micro_kernel.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace mpc::rt;
using Clock = std::chrono::steady_clock;

struct Shape {
  std::string text;
  mpc_rt_contract_t descriptor = {};
  long long batch = 0, m = 0, n = 0, k = 0;
};

Shape parse(const std::string &text, mpc_rt_dtype_t dtype, uint32_t id) {
  Shape shape;
  shape.text = text;
  int read = 0;
  if (std::sscanf(text.c_str(), "%lldx%lldx%lldx%lld%n", &shape.batch, &shape.m, &shape.n, &shape.k,
                  &read) != 4)
    throw std::invalid_argument(text + " is not BATCHxMxNxK");
  std::string rest = text.substr(static_cast<size_t>(read));
  auto &d = shape.descriptor;
  d.struct_size = sizeof(d);
  d.id = id;
  d.lhs_dtype = d.rhs_dtype = d.out_dtype = d.bias_dtype = dtype;
  d.flags = (rest.find("tl") != rest.npos ? MPC_RT_CONTRACT_TRANSPOSE_LHS : 0u) |
            (rest.find("tr") != rest.npos ? MPC_RT_CONTRACT_TRANSPOSE_RHS : 0u);
  d.batch = {shape.batch, 0}, d.m = {shape.m, 0}, d.n = {shape.n, 0}, d.k = {shape.k, 0};
  d.rhs_variable = shape.batch == 1 ? static_cast<int32_t>(id) : -1;
  return shape;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

Buffer allocate(long long elements, mpc_rt_dtype_t dtype) {
  Buffer buffer;
  auto bytes = static_cast<uint64_t>(elements) * dtypeSize(dtype);
  if (!buffer.allocate(bytes))
    throw std::bad_alloc();
  std::fill_n(buffer.data(), bytes, uint8_t{0x3c}); // small numbers in every dtype
  return buffer;
}

} // namespace

int main(int count, char **arguments) try {
  const std::map<std::string, mpc_rt_dtype_t> dtypes = {
      {"float32", MPC_RT_FLOAT32}, {"bfloat16", MPC_RT_BFLOAT16}, {"float16", MPC_RT_FLOAT16}};
  if (count < 3)
    throw std::invalid_argument("expected DTYPE[/kept] and shapes");
  std::string name = arguments[1];
  const size_t slash = name.find('/');
  const bool kept = slash != name.npos;
  const auto dtype = dtypes.find(name.substr(0, slash));
  if (dtype == dtypes.end() || (kept && name.substr(slash) != "/kept"))
    throw std::invalid_argument(
        name + " is none of float32, bfloat16, float16, each with or without /kept");
  double budget = 0.5;
  std::vector<Shape> shapes;
  for (int i = 2; i < count; ++i) {
    std::string argument = arguments[i];
    if (argument.rfind("--seconds=", 0) == 0)
      budget = std::stod(argument.substr(10));
    else
      shapes.push_back(parse(argument, dtype->second, static_cast<uint32_t>(i)));
  }
  ThreadTeam team(std::max(1u, std::thread::hardware_concurrency()));
  // One that only has oneDNN, one that is told to use the micro-kernel, one as models use it.
  enum { library, own, chosen, ways };
  std::unique_ptr<Contractor> contractors[ways];
  for (int way = 0; way < ways; ++way) {
    contractors[way] =
        std::make_unique<Contractor>(team, cpu().isa, onednn::hasNativeBFloat16(),
                                     onednn::hasExactInt8(), /*ownKernels=*/way != library);
    contractors[way]->setWeightsConstant(kept);
  }
  const MicroKernel *kernel = dtype->second == MPC_RT_BFLOAT16 && onednn::hasNativeBFloat16()
                                  ? bfloat16MicroKernel(cpu().isa)
                                  : nullptr;
  if (!kernel)
    kernel = float32MicroKernel(cpu().isa);
  std::string choices;
  for (const Shape &shape : shapes)
    if (kernel)
      choices += std::to_string(shape.descriptor.id) + (kept ? " 1 kept " : " 1 changing ") +
                 kernel->name + "\n";
  if (contractors[own]->setKernelChoices(choices.c_str()))
    throw std::runtime_error(mpc_rt_last_error());
  std::printf("[");
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Shape &shape = shapes[i];
    Buffer lhs = allocate(shape.batch * shape.m * shape.k, dtype->second);
    Buffer rhs = allocate(shape.batch * shape.k * shape.n, dtype->second);
    Buffer out = allocate(shape.batch * shape.m * shape.n, dtype->second);
    std::vector<double> seconds[ways];
    double total = 0;
    while (seconds[chosen].size() < 6 || total < budget)
      for (int way = 0; way < ways; ++way) {
        team.begin();
        auto start = Clock::now();
        if (contractors[way]->contract(shape.descriptor, lhs.data(), rhs.data(), nullptr,
                                       out.data(), nullptr, 1))
          throw std::runtime_error(mpc_rt_last_error());
        seconds[way].push_back(std::chrono::duration<double>(Clock::now() - start).count());
        team.end();
        total += seconds[way].back();
        if (!kept)
          contractors[way]->forgetWeights();
      }
    for (auto &times : seconds)
      times.erase(times.begin()); // plans, pages, code
    std::printf("%s\n{\"shape\": \"%s\", \"onednn\": %.7f, \"own\": %.7f, \"mpc\": %.7f, "
                "\"kernel\": \"%s\"}",
                i ? "," : "", shape.text.c_str(), median(seconds[library]), median(seconds[own]),
                median(seconds[chosen]), contractors[chosen]->kernelOf(shape.descriptor, 1));
  }
  std::printf("\n]\n");
  return 0;
} catch (const std::exception &error) {
  std::fprintf(stderr, "mpc-benchmark-contractions: error: %s\n", error.what());
  return 2;
}
