// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The runtime's convolutions by each kernel that there is.
#include "benchmarks/kernels/kernels.h"
#include "benchmarks/kernels/setting.h"
#include "mpc-rt/status.h"
#include "runtime/base/dtype.h"
#include "runtime/drivers/convolution.h"
#include "runtime/drivers/cpu/convolve/convolver.h"
#include "runtime/drivers/cpu/kernels/micro_kernel.h"

#include <algorithm>
#include <benchmark/benchmark.h>
#include <map>
#include <regex>
#include <stdexcept>

using namespace mpc::rt;
using namespace mpc::benchmarks;

namespace {

// The convolution has two spatial dimensions, padded so that results are as many as images, or
// images / stride.
mpc_rt_convolution_t parse(const std::string &specification, uint32_t id, bool &kept) {
  const std::string name = "convolution/" + specification;
  const std::vector<std::string> parts = partsOf(specification);
  kept = parts.size() == 4 && parts[1] == "kept";
  static const std::map<std::string, mpc_rt_convolution_direction_t> directions = {
      {"forward", MPC_RT_CONVOLUTION_FORWARD},
      {"input_gradient", MPC_RT_CONVOLUTION_INPUT_GRADIENT},
      {"filter_gradient", MPC_RT_CONVOLUTION_FILTER_GRADIENT}};
  static const std::regex shapes(
      "(\\d+)x(\\d+)x(\\d+)x(\\d+)-(\\d+)x(\\d+)x(\\d+)(?:s(\\d+))?(?:g(\\d+))?");
  std::smatch found;
  if (parts.size() != (kept ? 4 : 3) || !directions.count(parts[parts.size() - 2]) ||
      !std::regex_match(parts.back(), found, shapes))
    throw std::invalid_argument(
        name + ": expected DTYPE[/kept]/forward, /input_gradient or /filter_gradient, and "
               "/BATCHxROWSxCOLUMNSxCHANNELS-ROWSxCOLUMNSxFILTERS[sSTRIDE][gGROUPS]");
  auto number = [&](size_t i) { return found[i].matched ? std::stoll(found[i]) : 1; };
  const int64_t stride = number(8);
  mpc_rt_convolution_t d = {};
  d.struct_size = sizeof(d);
  d.id = id;
  d.lhs_dtype = d.rhs_dtype = d.out_dtype = d.bias_dtype = dtypeOf(parts[0], name);
  d.direction = directions.at(parts[parts.size() - 2]);
  d.spatial_rank = 2;
  d.rhs_variable = d.direction == MPC_RT_CONVOLUTION_FILTER_GRADIENT ? -1 : static_cast<int>(id);
  d.batch = {number(1), 0};
  d.groups = number(9), d.channels = number(4), d.filters = number(7);
  for (int i = 0; i < 2; ++i) {
    d.images[i] = number(i ? 3 : 2);
    d.kernel[i] = number(i ? 6 : 5);
    d.strides[i] = stride, d.dilations[i] = 1;
    d.outputs[i] = (d.images[i] + stride - 1) / stride;
    const int64_t padding =
        std::max<int64_t>((d.outputs[i] - 1) * stride + d.kernel[i] - d.images[i], 0);
    d.padding_low[i] = padding / 2, d.padding_high[i] = padding - padding / 2;
  }
  return d;
}

enum Way { library, own, depthwise, chosen };
constexpr const char *wayNames[] = {"onednn", "own", "depthwise", "mpc"};

// One convolution, done in one way.
class Convolving {
public:
  Convolving(const mpc_rt_convolution_t &descriptor, const Convolution &shape, bool kept, int isa,
             Way way)
      : descriptor(descriptor), shape(shape), kept(kept), convolver(team(), isa, choices, list) {
    list.start();
    convolver.setWeightsConstant(kept);
    const MicroKernel *bfloat16 = shape.lhs == MPC_RT_BFLOAT16 ? bfloat16MicroKernel(isa) : nullptr;
    const MicroKernel *micro = bfloat16 ? bfloat16 : float32MicroKernel(isa);
    wanted = way == library        ? libraryKernel
             : way == depthwise    ? depthwiseKernel
             : way == own && micro ? micro->name
                                   : nullptr;
    const bool keeps = kept && descriptor.rhs_variable >= 0;
    if (wanted)
      choices.set({KernelChoices::Operation::convolution, descriptor.id, 1, keeps}, wanted);
  }

  bool once(Operands &operands) {
    const bool failed =
        convolver.convolve(descriptor, convolveCall(operands[0], operands[1], /*bias=*/nullptr,
                                                    operands[2], /*batch=*/1));
    if (!kept)
      convolver.forgetWeights();
    return !failed;
  }
  // The kernel that computed it, in "LAYER SIZES DTYPES KERNEL: REASON".
  std::string kernel() const {
    const std::string line = list.text();
    const std::string named = line.substr(0, std::min(line.find(": "), line.find('\n')));
    return named.substr(named.rfind(' ') + 1);
  }
  // Rules decide where the kernel that is asked for does not have the shape.
  bool isPossible() {
    uint8_t some = 0; // nothing is computed
    convolver.reserveFor(descriptor,
                         convolveCall(&some, &some, /*bias=*/nullptr, &some, /*batch=*/1));
    const bool isLibrary = kernel().find(':') != std::string::npos;
    return !wanted || kernel() == wanted || (wanted == std::string(libraryKernel) && isLibrary);
  }
  double terms() const {
    return static_cast<double>(shape.batch * shape.outputElements() * shape.channels /
                               shape.groups * Convolution::product(shape.kernel));
  }

private:
  const mpc_rt_convolution_t descriptor;
  const Convolution shape;
  const bool kept;
  KernelChoices choices;
  KernelLog list;
  Convolver convolver;
  const char *wanted;
};

Operands operands;

void convolve(benchmark::State &state, const mpc_rt_convolution_t &descriptor,
              const Convolution &shape, bool kept, int isa, Way way) {
  Convolving convolving(descriptor, shape, kept, isa, way);
  team().begin();
  bool done = convolving.once(operands); // plans, pages, code
  for (auto _ : state)
    if (done)
      done = convolving.once(operands);
  team().end();
  if (!done)
    state.SkipWithError(mpc_rt_last_error());
  state.counters["flops"] =
      benchmark::Counter(2 * convolving.terms(), benchmark::Counter::kIsIterationInvariantRate);
  state.SetLabel(convolving.kernel());
}

} // namespace

void mpc::benchmarks::registerConvolutions(const std::vector<std::string> &specifications,
                                           int isa) {
  uint32_t id = 0;
  for (const std::string &specification : specifications) {
    bool kept = false;
    const mpc_rt_convolution_t descriptor = parse(specification, id++, kept);
    Convolution shape;
    const uint8_t some = 0;
    if (resolveConvolution(descriptor, &some, &some, /*bias=*/nullptr, &some, /*batch=*/1, shape))
      throw std::invalid_argument("convolution/" + specification + ": " + mpc_rt_last_error());
    const int64_t elements[] = {shape.lhsElements(), shape.rhsElements(), shape.outElements()};
    for (size_t i = 0; i < 3; ++i)
      operands.grow(i, static_cast<uint64_t>(elements[i]) * dtypeSize(shape.out));
    for (Way way : {library, own, depthwise, chosen})
      if (Convolving(descriptor, shape, kept, isa, way).isPossible())
        benchmark::RegisterBenchmark(
            ("convolution/" + specification + "/" + wayNames[way]).c_str(),
            [=](benchmark::State &state) { convolve(state, descriptor, shape, kept, isa, way); })
            ->UseRealTime();
  }
}
