// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The runtime's attention, and its derivative.
#include "benchmarks/kernels/kernels.h"
#include "benchmarks/kernels/setting.h"
#include "runtime/base/dtype.h"
#include "runtime/drivers/attention.h"
#include "runtime/drivers/cpu/attend/attender.h"
#include "runtime/drivers/cpu/onednn/onednn.h"

#include <benchmark/benchmark.h>
#include <cmath>
#include <regex>
#include <stdexcept>

using namespace mpc::rt;
using namespace mpc::benchmarks;

namespace {

Attention parse(const std::string &specification, bool &isGradient) {
  static const std::regex shapes("(\\d+)x(\\d+)x(\\d+)x(\\d+)x(\\d+)(c?)");
  const std::vector<std::string> parts = partsOf(specification);
  isGradient = parts.size() == 3 && parts[1] == "gradient";
  std::smatch found;
  if (parts.size() != (isGradient ? 3 : 2) || !std::regex_match(parts.back(), found, shapes))
    throw std::invalid_argument("attention/" + specification +
                                ": expected DTYPE[/gradient]/BATCHxTARGETSxSOURCESxHEADSxWIDTH[c]");
  Attention shape;
  shape.dtype = dtypeOf(parts[0], "attention/" + specification);
  shape.batch = std::stoll(found[1]), shape.targets = std::stoll(found[2]);
  shape.sources = std::stoll(found[3]), shape.heads = std::stoll(found[4]);
  shape.width = shape.valueWidth = std::stoll(found[5]);
  shape.causal = found[6].length() > 0;
  shape.scale = 1 / std::sqrt(static_cast<double>(shape.width));
  return shape;
}

// In the order of AttentionGradientOperands; out and the logarithms are attention's results, too.
Operands operands;
enum Place {
  cotangent,
  out,
  logSums,
  query,
  key,
  value,
  queryGradient,
  keyGradient,
  valueGradient
};

void grow(const Attention &shape) {
  const auto bytesOf = [&](int64_t elements) {
    return static_cast<uint64_t>(elements) * dtypeSize(shape.dtype);
  };
  for (Place place : {cotangent, out})
    operands.grow(place, bytesOf(shape.outElements()));
  operands.grow(logSums, static_cast<uint64_t>(shape.rows()) * dtypeSize(shape.wide()));
  for (Place place : {query, queryGradient})
    operands.grow(place, bytesOf(shape.queryElements()));
  for (Place place : {key, keyGradient})
    operands.grow(place, bytesOf(shape.keyElements()));
  for (Place place : {value, valueGradient})
    operands.grow(place, bytesOf(shape.valueElements()));
}

void attend(benchmark::State &state, const Attention &shape, bool isGradient, int isa) {
  Attender attender(team(), isa, onednn::hasNativeBFloat16());
  const char *kernel = attender.kernelOf(shape);
  if (!kernel) {
    state.SkipWithError("this CPU has no kernel for it");
    return;
  }
  const AttentionOperands forward = {operands[query], operands[key], operands[value], operands[out],
                                     operands[logSums]};
  const AttentionGradientOperands backward = {
      operands[cotangent],     operands[out],         operands[logSums],
      operands[query],         operands[key],         operands[value],
      operands[queryGradient], operands[keyGradient], operands[valueGradient]};
  auto once = [&] {
    if (isGradient)
      attender.attendGradient(shape, backward);
    else
      attender.attend(shape, forward);
  };
  team().begin();
  attender.attend(shape, forward); // whose logarithms the derivative reads
  once();                          // pages
  for (auto _ : state)
    once();
  team().end();
  // The derivative has five products, one of which computes the scores again.
  const double products = isGradient ? 5 : 2;
  const auto terms = static_cast<double>(shape.scores()) * static_cast<double>(shape.width);
  state.counters["flops"] =
      benchmark::Counter(2 * products * terms, benchmark::Counter::kIsIterationInvariantRate);
  state.SetLabel(kernel);
}

} // namespace

void mpc::benchmarks::registerAttentions(const std::vector<std::string> &specifications, int isa) {
  for (const std::string &specification : specifications) {
    bool isGradient = false;
    const Attention shape = parse(specification, isGradient);
    grow(shape);
    benchmark::RegisterBenchmark(
        ("attention/" + specification).c_str(),
        [=](benchmark::State &state) { attend(state, shape, isGradient, isa); })
        ->UseRealTime();
  }
}
