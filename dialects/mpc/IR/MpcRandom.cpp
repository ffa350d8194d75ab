// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dropout, noise and the random state.
#include "dialects/mpc/IR/Mpc.h"

#include <cmath>

using namespace mlir;
using namespace mpc;

LogicalResult DropoutOp::verify() {
  double rate = getRate().convertToDouble();
  if (!(rate >= 0 && rate < 1))
    return emitOpError() << "rate must be in [0, 1), got " << rate;
  if (auto shape = getNoiseShape();
      shape && int64_t(shape->size()) != tensorTypeOf(getInput()).getRank())
    return emitOpError() << "noise_shape must have the input's rank";
  return success();
}

LogicalResult RandomAdvanceOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                        MutableArrayRef<ReferenceTensor> results) {
  results[0] = operands[0];
  results[0].integers[1] += 1;
  return success();
}

LogicalResult RandomStepOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                     MutableArrayRef<ReferenceTensor> results) {
  results[0] = operands[0];
  results[0].integers[0] = int64_t(uint64_t(operands[0].integers[0]) + kStepKey);
  return success();
}

LogicalResult DropoutOp::buildVjp(OpBuilder &builder, ValueRange cotangents, ArrayRef<bool> wanted,
                                  MutableArrayRef<Value> operandCotangents) {
  if (wanted[0])
    operandCotangents[0] =
        DropoutOp::create(builder, getLoc(), cotangents[0].getType(), cotangents[0], getState(),
                          getRateAttr(), getStreamAttr(), getNoiseShapeAttr());
  return success();
}

int64_t mpc::firstElementOf(const ReferenceTensor &state, ArrayRef<int64_t> shape) {
  int64_t first = state.size() > 2 ? state.integers[2] : 0;
  for (int64_t extent : shape.drop_front())
    first *= extent;
  return first;
}

bool mpc::keepsElement(const ReferenceTensor &state, int64_t stream, double rate, int64_t element) {
  const uint64_t seed = state.integers[0];
  const uint32_t word = philox4x32({uint32_t(element), uint32_t(uint64_t(element) >> 32),
                                    uint32_t(stream), uint32_t(state.integers[1])},
                                   {uint32_t(seed), uint32_t(seed >> 32)})[0];
  return (word >> 8) * 0x1p-24 >= rate;
}

LogicalResult DropoutOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                  MutableArrayRef<ReferenceTensor> results) {
  const ReferenceTensor &input = operands[0], &state = operands[1];
  startReference(results[0], input.elementType, input.shape);
  SmallVector<int64_t> noise(input.shape);
  if (auto declared = getNoiseShape())
    for (auto [d, extent] : llvm::enumerate(*declared))
      if (extent == 1)
        noise[d] = 1;
  SmallVector<int64_t, 0> elements =
      stridedOffsets(input.shape, broadcastStrides(noise, input.shape));
  double rate = getRate().convertToDouble(), scale = roundTo(input.elementType, 1 / (1 - rate));
  const bool repeats = getNoiseShape() && getNoiseShape()->front() == 1;
  const int64_t first = noise.empty() || repeats ? 0 : firstElementOf(state, noise);
  for (auto [i, element] : llvm::enumerate(elements))
    results[0].set(
        i, keepsElement(state, getStream(), rate, first + element) ? input.floats[i] * scale : 0);
  return success();
}

Value DropoutOp::getInferenceValue() { return getInput(); }

// ---- normal_noise, uniform_noise ----------------------------------------------------------------

/// Numbers in the shape of `like`, element by element of the first two words of its block.
static void fillWithNoise(ArrayRef<ReferenceTensor> operands, int64_t stream,
                          ReferenceTensor &result,
                          function_ref<double(uint32_t, uint32_t)> numberOf) {
  const ReferenceTensor &like = operands[0], &state = operands[1];
  startReference(result, like.elementType, like.shape);
  const uint64_t seed = state.integers[0];
  const int64_t first = like.shape.empty() ? 0 : firstElementOf(state, like.shape);
  for (int64_t i = 0, count = like.size(); i < count; ++i) {
    const uint64_t element = uint64_t(first + i);
    auto words = philox4x32(
        {uint32_t(element), uint32_t(element >> 32), uint32_t(stream), uint32_t(state.integers[1])},
        {uint32_t(seed), uint32_t(seed >> 32)});
    result.set(i, numberOf(words[0], words[1]));
  }
}

/// Nothing that a gradient reaches decides the numbers.
LogicalResult NormalNoiseOp::buildVjp(OpBuilder &, ValueRange, ArrayRef<bool>,
                                      MutableArrayRef<Value>) {
  return success();
}

LogicalResult NormalNoiseOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                      MutableArrayRef<ReferenceTensor> results) {
  const double mean = getMean().convertToDouble(), stddev = getStddev().convertToDouble();
  fillWithNoise(operands, getStream(), results[0], [&](uint32_t first, uint32_t second) {
    const double u = ((first >> 8) + 0.5) * 0x1p-24, v = (second >> 8) * 0x1p-24;
    return mean + stddev * std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * v);
  });
  return success();
}

LogicalResult UniformNoiseOp::verify() {
  // So written, NaN fails too.
  if (!(getLow() <= getHigh()))
    return emitOpError() << "low must not be above high";
  return success();
}

/// Nothing that a gradient reaches decides the numbers.
LogicalResult UniformNoiseOp::buildVjp(OpBuilder &, ValueRange, ArrayRef<bool>,
                                       MutableArrayRef<Value>) {
  return success();
}

LogicalResult UniformNoiseOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                       MutableArrayRef<ReferenceTensor> results) {
  const double low = getLow().convertToDouble(), high = getHigh().convertToDouble();
  fillWithNoise(operands, getStream(), results[0], [&](uint32_t first, uint32_t) {
    return low + (high - low) * ((first >> 8) * 0x1p-24);
  });
  return success();
}
