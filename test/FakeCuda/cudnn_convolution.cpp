// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sum itself: in float64, rounded once.
#include "test/FakeCuda/cudnn_convolution.h"
#include "runtime/base/element.h"
#include "runtime/data/half.h"
#include "test/FakeCuda/cudnn_attention.h"
#include "test/FakeCuda/cudnn_graph.h"
#include "test/FakeCuda/stream.h"
#include "test/FakeCuda/tensor_cores.h"

#include <cmath>
#include <cstdlib>

namespace fake::dnn {
namespace {

mpc_rt_dtype_t dtypeOf(int type) {
  return type == 2 ? MPC_RT_FLOAT16 : type == 9 ? MPC_RT_BFLOAT16 : MPC_RT_FLOAT32;
}

std::vector<double> load(const Tensor &t, const void *from, bool inTf32) {
  std::vector<double> values(t.bytes() / (t.type == 0 ? 4 : 2));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = mpc::rt::loadElement(dtypeOf(t.type), from, static_cast<int64_t>(i));
    values[i] = inTf32 && t.type == 0 ? toTf32(values[i]) : values[i];
  }
  return values;
}

// Nothing says what a fused relu makes of NaN: both are played.
const bool losesNaN = std::getenv("MPC_FAKE_CUDNN_RELU_LOSES_NAN") != nullptr;

// Calls visit(image, filter, output) with the places of each product.
template <typename Visit> void forEachProduct(const Problem &p, Visit visit) {
  const size_t rank = p.low.size();
  const int64_t filters = p.filter.extents[0], perGroup = p.filters(), channels = p.channels();
  const int64_t pixelStride = p.image.strides[1], weightStride = p.filter.strides[1];
  int64_t places = 1, taps = 1;
  for (size_t d = 0; d < rank; ++d)
    places *= p.output.extents[d + 2], taps *= p.filter.extents[d + 2];
  for (int64_t b = 0; b < p.image.extents[0]; ++b)
    for (int64_t o = 0; o < places; ++o)
      for (int64_t k = 0; k < taps; ++k) {
        int64_t place = o, tap = k;
        int64_t image = b * p.image.strides[0], output = b * p.output.strides[0], weight = 0;
        bool isInside = true;
        for (size_t d = rank; d-- > 0;) {
          const int64_t y = place % p.output.extents[d + 2], t = tap % p.filter.extents[d + 2];
          const int64_t x = y * p.strides[d] - p.low[d] +
                            (p.isFlipped ? p.filter.extents[d + 2] - 1 - t : t) * p.dilations[d];
          isInside &= x >= 0 && x < p.image.extents[d + 2];
          image += x * p.image.strides[d + 2];
          output += y * p.output.strides[d + 2];
          weight += t * p.filter.strides[d + 2];
          place /= p.output.extents[d + 2];
          tap /= p.filter.extents[d + 2];
        }
        if (!isInside)
          continue;
        for (int64_t f = 0; f < filters; ++f) {
          const int64_t ofGroup = f / perGroup * channels * pixelStride;
          for (int64_t c = 0; c < channels; ++c)
            visit(image + ofGroup + c * pixelStride,
                  weight + f * p.filter.strides[0] + c * weightStride,
                  output + f * p.output.strides[1]);
        }
      }
}

} // namespace

Tensor readTensor(const Description &d) {
  Tensor t;
  t.alignment = d.get<int64_t>(900);
  t.type = d.get<int>(901);
  t.extents = d.numbers(902);
  t.strides = d.numbers(903);
  t.id = d.get<int64_t>(906);
  t.isVirtual = d.get<bool>(907);
  t.isByValue = d.get<bool>(908);
  return t;
}

bool isDense(const Tensor &t) {
  int64_t elements = 1, reach = 1;
  for (size_t d = 0; d < t.extents.size(); ++d) {
    elements *= t.extents[d];
    reach += (t.extents[d] - 1) * t.strides[d];
  }
  return elements == reach;
}

void compute(const Description &graph, const Engine &engine,
             const std::map<int64_t, void *> &addresses) {
  if (isAttention(graph))
    return computeAttention(graph, addresses);
  Problem p;
  readProblem(graph, p);
  const bool inTf32 = !engine.notes.empty() && engine.notes[0] == 0;
  // Bias lies along the channels of the result.
  std::vector<double> sums(p.last.bytes() / (p.last.type == 0 ? 4 : 2));
  auto operand = [&](const Tensor &t) { return load(t, addresses.at(t.id), inTf32); };
  if (p.kind == forwardOperation) {
    auto image = operand(p.image), filter = operand(p.filter);
    forEachProduct(p, [&](int64_t x, int64_t w, int64_t y) { sums[y] += image[x] * filter[w]; });
  } else if (p.kind == dataGradientOperation) {
    auto output = operand(p.output), filter = operand(p.filter);
    forEachProduct(p, [&](int64_t x, int64_t w, int64_t y) { sums[x] += output[y] * filter[w]; });
  } else {
    auto image = operand(p.image), output = operand(p.output);
    forEachProduct(p, [&](int64_t x, int64_t w, int64_t y) { sums[w] += image[x] * output[y]; });
  }
  std::vector<double> bias;
  if (p.hasBias)
    bias = load(p.bias, addresses.at(p.bias.id), false);
  const mpc_rt_dtype_t dtype = dtypeOf(p.last.type);
  const bool keepsNaN = p.keepsNaN && !losesNaN;
  for (size_t i = 0; i < sums.size(); ++i) {
    double value = sums[i];
    if (p.hasBias)
      value += bias[i % bias.size()];
    if (p.hasRelu)
      value = value > 0 || (keepsNaN && std::isnan(value)) ? value : 0;
    mpc::rt::storeElement(dtype, addresses.at(p.last.id), static_cast<int64_t>(i),
                          p.last.type == 0 ? value
                                           : static_cast<double>(mpc::data::toFloatOdd(value)));
  }
}

} // namespace fake::dnn
