// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/preprocessing/image_preprocessing: layers that erase, sharpen and blur images at
// random in training.
#include "lib/Import/Keras/LayerRegistry.h"
#include "lib/Import/Keras/Layers/RandomImages.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using B = LayerBuilder;

// ---- RandomErasing ------------------------------------------------------------------------------

/// Whether a place along `axis` lies in an interval of each sample's own, [batch, …] with the
/// axis' extent: of length sqrt(u) times the extent, u in `scale`, anywhere in the image.
Value drawInterval(B &b, Value images, int64_t axis, NumberRange scale) {
  Value like = sampleOf(b, images);
  const int64_t extent = b.shapeOf(images)[axis];
  Value length =
      b.make<MultiplyOp>(b.make<SqrtOp>(drawLike(b, like, scale)), b.makeConstant(double(extent)));
  Value start = b.make<MultiplyOp>(drawLike(b, like, {0, 1}),
                                   b.make<SubtractOp>(b.makeConstant(double(extent)), length));
  Value end = b.make<AddOp>(start, length);
  llvm::SmallVector<double> places;
  for (int64_t place = 0; place < extent; ++place)
    places.push_back(double(place));
  llvm::SmallVector<int64_t> shape(4, 1);
  shape[axis] = extent;
  Value grid = b.makeConstant(shape, places);
  return b.make<LogicalAndOp>(b.makeCompare(ComparePredicate::GE, grid, withChannel(b, start)),
                              b.makeCompare(ComparePredicate::LT, grid, withChannel(b, end)));
}

/// The values of erased pixels; null after an error.
Value makeFill(B &b, const ImageBatch &batch, NumberRange values) {
  const llvm::json::Value *fill = b.layer.config.get("fill_value");
  if (!fill || fill->getAsNull()) {
    Value noise = b.make<NormalNoiseOp>(batch.images, b.getRandomState(),
                                        b.builder.getF64FloatAttr(0), b.builder.getF64FloatAttr(1),
                                        b.builder.getI64IntegerAttr(b.takeRandomStream()));
    return clip(b, b.make<MultiplyOp>(noise, b.makeConstant(values.high)), values);
  }
  if (std::optional<double> number = fill->getAsNumber())
    return clip(b, b.makeConstant(*number), values);
  // Keras repeats the list along the last axis, which is the channels' in one format alone.
  llvm::SmallVector<double> numbers;
  if (const llvm::json::Array *array = fill->getAsArray())
    for (const llvm::json::Value &item : *array)
      if (std::optional<double> number = item.getAsNumber())
        numbers.push_back(*number);
  if (numbers.size() == 3 && batch.format == DataFormat::ChannelsLast &&
      b.shapeOf(batch.images)[3] == 3)
    return clip(b, b.makeConstant({3}, numbers), values);
  return b.error("'fill_value' of RandomErasing must be a number, or three for three channels that "
                 "come last");
}

Value importErasing(B &b) {
  std::optional<ImageBatch> batch = getAugmentedImages(b);
  auto factor = getRange(b, "factor", 0, {0, 1}), scale = getRange(b, "scale", 0, {0.02, 0.33}),
       values = getValueRange(b);
  Value fill = batch && factor && scale && values ? makeFill(b, *batch, *values) : Value();
  if (!fill)
    return {};
  Value images = batch->images;
  Value erased = b.make<LogicalAndOp>(drawInterval(b, images, /*axis=*/2, *scale),
                                      drawInterval(b, images, /*axis=*/1, *scale));
  erased = b.make<LogicalAndOp>(erased, drawDecision(b, images, *factor));
  return batch->finish(b, b.makeSelect(erased, fill, images));
}

// ---- Filters ------------------------------------------------------------------------------------

/// Each channel by itself times a kernel [rows, columns, 1, 1] of odd extents, with zeros around.
Value filter(B &b, Value images, Value kernel) {
  const int64_t rows = b.shapeOf(kernel)[0], columns = b.shapeOf(kernel)[1],
                channels = b.shapeOf(images)[3];
  llvm::SmallVector<double> ones(size_t(channels), 1.0);
  Value kernels = b.make<MultiplyOp>(kernel, b.makeConstant({1, 1, 1, channels}, ones));
  const llvm::SmallVector<int64_t> border = {rows / 2, columns / 2};
  return b.make<ConvolutionOp>(images, kernels,
                               ConvolutionWindow{{1, 1}, border, border, {1, 1}, channels});
}

Value importSharpness(B &b) {
  std::optional<ImageBatch> batch = getAugmentedImages(b);
  auto factor = getRange(b, "factor", 0), values = getValueRange(b);
  if (!batch || !factor || !values)
    return {};
  Value images = batch->images;
  llvm::SmallVector<double> weights(9, 1.0);
  weights[4] = 5.0;
  Value kernel = b.make<DivideOp>(b.makeCastLike(b.makeConstant({3, 3, 1, 1}, weights), images),
                                  b.makeConstant(13));
  Value smoothed = filter(b, images, kernel);
  Value strength =
      b.makeCastLike(b.make<MultiplyOp>(draw(b, images, *factor), b.makeConstant(2)), images);
  Value change = b.make<MultiplyOp>(withChannel(b, b.make<SubtractOp>(b.makeConstant(1), strength)),
                                    b.make<SubtractOp>(smoothed, images));
  return batch->finish(b, clip(b, b.make<AddOp>(images, change), *values));
}

/// e^(-x^2 / 2 s^2) about the middle of `size` places, divided by their sum. The whole batch has
/// one s.
Value makeBell(B &b, Value images, int64_t size, NumberRange sigma) {
  Value deviation = drawLike(b, b.makeCastLike(b.makeConstant({1}, {0.0}), images), sigma);
  deviation = b.make<AddOp>(deviation, b.makeConstant(1e-6));
  llvm::SmallVector<double> places;
  for (int64_t place = 0; place < size; ++place)
    places.push_back(double(place) - double(size - 1) / 2);
  Value distance = b.make<DivideOp>(b.makeConstant({size}, places), deviation);
  Value bell = b.make<ExpOp>(
      b.make<MultiplyOp>(b.makeConstant(-0.5), b.make<MultiplyOp>(distance, distance)));
  return b.make<DivideOp>(bell, b.makeReduce(ReduceKind::Sum, bell, {0}, /*keepDims=*/true));
}

Value importBlur(B &b) {
  std::optional<ImageBatch> batch = getAugmentedImages(b);
  auto factor = getRange(b, "factor", 0, {0, 1}), sigma = getRange(b, "sigma", 0, {0, 1}),
       values = getValueRange(b);
  auto size = getNumbers(b, "kernel_size", 2, 3);
  if (!batch || !factor || !sigma || !values || !size)
    return {};
  const int64_t rows = (*size)[0], columns = (*size)[1];
  if (rows % 2 == 0 || columns % 2 == 0 || rows > 1023 || columns > 1023)
    return b.error("'kernel_size' of RandomGaussianBlur must be odd, and below 1024");
  // Keras computes [columns, rows] and reads it as [rows, columns].
  Value first = makeBell(b, batch->images, rows, *sigma),
        second = makeBell(b, batch->images, columns, *sigma);
  Value kernel =
      b.make<MultiplyOp>(b.makeReshape(second, {columns, 1}), b.makeReshape(first, {1, rows}));
  Value blurred = filter(b, batch->images, b.makeReshape(kernel, {rows, columns, 1, 1}));
  Value changed = b.makeSelect(drawDecision(b, batch->images, *factor), blurred, batch->images);
  return batch->finish(b, clip(b, changed, *values));
}

constexpr LayerEntry kRegionLayers[] = {
    {"RandomErasing", importErasing},
    {"RandomGaussianBlur", importBlur},
    {"RandomSharpness", importSharpness},
};

} // namespace

llvm::ArrayRef<LayerEntry> regionAugmentationLayers() { return kRegionLayers; }

} // namespace mpc::keras
