// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/Layers/RandomImages.h"

#include <cmath>

namespace mpc::keras {

using mlir::Value;

Value ImageBatch::finish(LayerBuilder &b, Value changed) const {
  return changed ? b.make<InTrainingOp>(fromChannelsLast(b, format, changed), input) : Value();
}

std::optional<ImageBatch> getAugmentedImages(LayerBuilder &b) {
  b.precision().autocast = PrecisionWishes::Autocast::CastsIntegers;
  ImageBatch batch;
  batch.input = getImages(b, 2, Integers::Cast);
  std::optional<DataFormat> format = getDataFormat(b);
  if (!batch.input || !format)
    return std::nullopt;
  batch.format = *format;
  batch.images = toChannelsLast(b, *format, batch.input);
  return batch;
}

std::optional<NumberRange> getRange(LayerBuilder &b, llvm::StringRef key, double least,
                                    NumberRange otherwise) {
  const llvm::json::Value *value = b.layer.config.get(key);
  if (!value || value->getAsNull())
    return otherwise;
  NumberRange range{NAN, NAN};
  if (std::optional<double> number = value->getAsNumber()) {
    range = {std::max(-std::fabs(*number), least), std::fabs(*number)};
  } else if (const llvm::json::Array *pair = value->getAsArray(); pair && pair->size() == 2) {
    const double first = (*pair)[0].getAsNumber().value_or(NAN),
                 second = (*pair)[1].getAsNumber().value_or(NAN);
    range = {std::min(first, second), std::max(first, second)};
  }
  if (std::isfinite(range.low) && std::isfinite(range.high))
    return range;
  b.error("'" + key + "' of " + b.layer.className + " must be a number or a list of two numbers");
  return std::nullopt;
}

std::optional<NumberRange> getValueRange(LayerBuilder &b) {
  return getRange(b, "value_range", -1, {0, 255});
}

Value sampleOf(ValueBuilder &b, Value images) {
  for (int64_t axis = 1; axis < 4; ++axis)
    images = b.make<SliceOp>(images, axis, /*offset=*/0, /*size=*/1);
  return b.makeReshape(images, {b.shapeOf(images)[0], 1, 1});
}

Value drawLike(LayerBuilder &b, Value like, NumberRange range) {
  return b.make<UniformNoiseOp>(like, b.getRandomState(),
                                b.builder.getF64FloatAttr(std::min(range.low, range.high)),
                                b.builder.getF64FloatAttr(std::max(range.low, range.high)),
                                b.builder.getI64IntegerAttr(b.takeRandomStream()));
}

Value draw(LayerBuilder &b, Value images, NumberRange range) {
  return drawLike(b, b.makeCastTo(sampleOf(b, images), b.builder.getF32Type()), range);
}

Value withChannel(ValueBuilder &b, Value samples) {
  return b.makeReshape(samples, {b.shapeOf(samples)[0], 1, 1, 1});
}

Value drawDecision(LayerBuilder &b, Value images, NumberRange range) {
  Value probability = draw(b, images, range), threshold = draw(b, images, {0, 1});
  return withChannel(b, b.makeCompare(ComparePredicate::LT, threshold, probability));
}

Value widen(ValueBuilder &b, Value x, Value images) {
  return b.makeCastLike(x, images, /*wide=*/true);
}

Value clip(ValueBuilder &b, Value x, NumberRange range) {
  return b.make<MinimumOp>(b.make<MaximumOp>(x, b.makeConstant(range.low)),
                           b.makeConstant(range.high));
}

Value moveRange(ValueBuilder &b, Value x, NumberRange from, NumberRange to) {
  if (from.low == to.low && from.high == to.high)
    return x;
  x = b.make<DivideOp>(b.make<SubtractOp>(x, b.makeConstant(from.low)),
                       b.make<SubtractOp>(b.makeConstant(from.high), b.makeConstant(from.low)));
  Value size = b.make<SubtractOp>(b.makeConstant(to.high), b.makeConstant(to.low));
  return b.make<AddOp>(b.make<MultiplyOp>(x, size), b.makeConstant(to.low));
}

} // namespace mpc::keras
