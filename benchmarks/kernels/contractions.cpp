// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The runtime's contractions with and without its own micro-kernels.
#include "benchmarks/kernels/kernels.h"
#include "benchmarks/kernels/setting.h"
#include "mpc-rt/status.h"
#include "runtime/base/dtype.h"
#include "runtime/drivers/contraction.h"
#include "runtime/drivers/cpu/contract/contractor.h"
#include "runtime/drivers/cpu/kernels/micro_kernel.h"

#include <benchmark/benchmark.h>
#include <map>
#include <memory>
#include <stdexcept>

using namespace mpc::rt;
using namespace mpc::benchmarks;

namespace {

struct Shape {
  mpc_rt_contract_t descriptor = {};
  long long batch = 0, m = 0, n = 0, k = 0;
};

mpc_rt_dtype_t dtypeOfResult(mpc_rt_dtype_t dtype) {
  return dtype == MPC_RT_INT8 ? MPC_RT_INT32 : dtype;
}

Shape parse(const std::string &text, mpc_rt_dtype_t dtype, uint32_t id) {
  Shape shape;
  int read = 0;
  if (std::sscanf(text.c_str(), "%lldx%lldx%lldx%lld%n", &shape.batch, &shape.m, &shape.n, &shape.k,
                  &read) != 4)
    throw std::invalid_argument(text + " is not BATCHxMxNxK");
  std::string rest = text.substr(static_cast<size_t>(read));
  auto &d = shape.descriptor;
  d.struct_size = sizeof(d);
  d.id = id;
  d.lhs_dtype = d.rhs_dtype = d.bias_dtype = dtype;
  d.out_dtype = dtypeOfResult(dtype);
  d.flags = (rest.find("tl") != rest.npos ? MPC_RT_CONTRACT_TRANSPOSE_LHS : 0u) |
            (rest.find("tr") != rest.npos ? MPC_RT_CONTRACT_TRANSPOSE_RHS : 0u);
  d.batch = {shape.batch, 0}, d.m = {shape.m, 0}, d.n = {shape.n, 0}, d.k = {shape.k, 0};
  d.rhs_variable = shape.batch == 1 ? static_cast<int32_t>(id) : -1;
  return shape;
}

// One that only has oneDNN, one that is told to use the micro-kernel, one as models use it.
enum Way { library, own, chosen, ways };
constexpr const char *wayNames[ways] = {"onednn", "own", "mpc"};

// The products of one dtype, whose weights change or are kept.
struct Group {
  mpc_rt_dtype_t dtype;
  bool kept;
  int isa;
  KernelChoices choices[ways];
  KernelLog log;
  std::unique_ptr<Contractor> contractors[ways];

  Group(mpc_rt_dtype_t dtype, bool kept, int isa) : dtype(dtype), kept(kept), isa(isa) {
    for (int way = 0; way < ways; ++way) {
      contractors[way] = std::make_unique<Contractor>(
          team(), isa, choices[way], log,
          ContractionAbilities{onednn::hasNativeBFloat16(), onednn::hasExactInt8(),
                               /*ownKernels=*/way != library});
      contractors[way]->setWeightsConstant(kept);
    }
  }

  // Null where there is none of ours.
  const char *kernel() const {
    if (dtype == MPC_RT_INT8) {
      const Int8Kernel *int8 = kept ? int8Kernel(isa) : nullptr;
      return int8 ? int8->name : nullptr;
    }
    const MicroKernel *bfloat16 = dtype == MPC_RT_BFLOAT16 && onednn::hasNativeBFloat16()
                                      ? bfloat16MicroKernel(isa)
                                      : nullptr;
    const MicroKernel *found = bfloat16 ? bfloat16 : float32MicroKernel(isa);
    return found ? found->name : nullptr;
  }

  // Tells `own` to multiply this one by the micro-kernel.
  void choose(const Shape &shape) {
    if (kernel())
      choices[own].set({KernelChoices::Operation::contraction, shape.descriptor.id, 1, kept},
                       kernel());
  }
};

Operands operands;

void grow(const Shape &shape, mpc_rt_dtype_t dtype) {
  const long long elements[] = {shape.m * shape.k, shape.k * shape.n, shape.m * shape.n};
  for (size_t i = 0; i < 3; ++i)
    operands.grow(i, static_cast<uint64_t>(shape.batch * elements[i]) *
                         dtypeSize(i == 2 ? dtypeOfResult(dtype) : dtype));
}

void multiply(benchmark::State &state, Group &group, const Shape &shape, Way way) {
  Contractor &contractor = *group.contractors[way];
  uint8_t *lhs = operands[0], *rhs = operands[1], *out = operands[2];
  auto once = [&] {
    const mpc_rt_contract_call_t call = contractCall(lhs, rhs, /*bias=*/nullptr, out, 1);
    Contraction resolved;
    const bool failed = resolveContraction(shape.descriptor, call, resolved) ||
                        contractor.contract(shape.descriptor, resolved, call);
    if (!group.kept)
      contractor.forgetWeights();
    return !failed;
  };
  team().begin();
  bool done = once(); // plans, pages, code
  for (auto _ : state)
    if (done)
      done = once();
  team().end();
  if (!done)
    state.SkipWithError(mpc_rt_last_error());
  const auto terms = static_cast<double>(shape.batch * shape.m) * static_cast<double>(shape.n) *
                     static_cast<double>(shape.k);
  state.counters["flops"] =
      benchmark::Counter(2 * terms, benchmark::Counter::kIsIterationInvariantRate);
  if (way == chosen)
    state.SetLabel(
        contractor.describe(shape.descriptor, contractCall(lhs, rhs, /*bias=*/nullptr, out, 1)));
}

} // namespace

void mpc::benchmarks::registerProducts(const std::vector<std::string> &specifications, int isa) {
  static std::map<std::string, Group> groups;
  uint32_t id = 0;
  for (const std::string &specification : specifications) {
    const std::vector<std::string> parts = partsOf(specification);
    const bool kept = parts.size() == 3 && parts[1] == "kept";
    if (parts.size() != (kept ? 3 : 2))
      throw std::invalid_argument("product/" + specification +
                                  ": expected DTYPE[/kept]/BATCHxMxNxK[tl][tr]");
    const mpc_rt_dtype_t dtype = dtypeOf(parts[0], "product/" + specification);
    const Shape shape = parse(parts.back(), dtype, id++);
    Group &group =
        groups.try_emplace(parts[0] + (kept ? "/kept" : ""), dtype, kept, isa).first->second;
    group.choose(shape);
    grow(shape, dtype);
    for (int way = 0; way < ways; ++way)
      benchmark::RegisterBenchmark(("product/" + specification + "/" + wayNames[way]).c_str(),
                                   [&group, shape, way](benchmark::State &state) {
                                     multiply(state, group, shape, static_cast<Way>(way));
                                   })
          ->UseRealTime();
  }
}
