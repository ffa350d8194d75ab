// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/preprocessing/image_preprocessing: layers that change images at random in
// training and hand them on at inference. Each sample has random numbers of its own, which are
// ours: equal distributions, never equal numbers.
#include "../LayerRegistry.h"
#include "Warping.h"

#include <cmath>

namespace mpc::keras {
namespace {

using mlir::Value;
using B = LayerBuilder;

/// Of layers without a form for training.
Value importInferenceOnly(B &b) {
  b.setCastsIntegers();
  b.setInferenceOnly();
  return b.getFloatInput(/*castIntegers=*/true);
}

/// The images, channels last, and how the layer's input lies.
struct Batch {
  Value input, images;
  DataFormat format = DataFormat::ChannelsLast;

  /// `changed` in training, the input at inference; null stays.
  Value finish(B &b, Value changed) const {
    return changed ? b.make<InTrainingOp>(fromChannelsLast(b, format, changed), input) : Value();
  }
};

std::optional<Batch> getBatch(B &b) {
  b.setCastsIntegers();
  Batch batch;
  batch.input = getImages(b, 2, Integers::Cast);
  std::optional<DataFormat> format = getDataFormat(b);
  if (!batch.input || !format)
    return std::nullopt;
  batch.format = *format;
  batch.images = toChannelsLast(b, *format, batch.input);
  return batch;
}

/// Two numbers of the config, the smaller first.
struct Range {
  double low = 0.0, high = 0.0;
};

/// The config entry `key`: two numbers, or one, which stands for itself to both sides of 0, not
/// below `least`. `otherwise` where it is missing or null. Nothing after an error.
std::optional<Range> getRange(B &b, llvm::StringRef key, double least, Range otherwise = {}) {
  const llvm::json::Value *value = b.layer.config.get(key);
  if (!value || value->getAsNull())
    return otherwise;
  Range range{NAN, NAN};
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

/// A number in [range.low, range.high) for each sample, [batch, 1, 1], of the type of `like`.
Value drawLike(B &b, Value like, Range range) {
  return b.make<UniformNoiseOp>(like, b.getRandomState(),
                                b.builder.getF64FloatAttr(std::min(range.low, range.high)),
                                b.builder.getF64FloatAttr(std::max(range.low, range.high)),
                                b.builder.getI64IntegerAttr(b.takeRandomStream()));
}

/// An element for each sample, in the images' dtype.
Value sampleOf(B &b, Value images) {
  for (int64_t axis = 1; axis < 4; ++axis)
    images = b.make<SliceOp>(images, axis, /*offset=*/0, /*size=*/1);
  return b.makeReshape(images, {b.shapeOf(images)[0], 1, 1});
}

/// In float32, whatever the layer computes in.
Value draw(B &b, Value images, Range range) {
  return drawLike(b, b.makeCastTo(sampleOf(b, images), b.builder.getF32Type()), range);
}

Value withChannel(B &b, Value samples) {
  return b.makeReshape(samples, {b.shapeOf(samples)[0], 1, 1, 1});
}

// ---- Where places of the image go ---------------------------------------------------------------

Value importFlip(B &b) {
  std::optional<Batch> batch = getBatch(b);
  const std::string mode = b.getString("mode", "horizontal_and_vertical");
  if (!batch || b.hasFailed())
    return {};
  const bool both = mode == "horizontal_and_vertical";
  if (!both && mode != "horizontal" && mode != "vertical")
    return b.error("'mode' of RandomFlip is '" + mode +
                   "'; expected horizontal, vertical or horizontal_and_vertical");
  // One decision for both directions, as Keras makes it.
  Value flips = withChannel(
      b, b.makeCompare(ComparePredicate::LE, draw(b, batch->images, {0, 1}), b.makeConstant(0.5)));
  Value images = batch->images;
  if (both || mode == "horizontal")
    images = b.makeSelect(flips, b.make<ReverseOp>(images, /*axis=*/2), images);
  if (both || mode == "vertical")
    images = b.makeSelect(flips, b.make<ReverseOp>(images, /*axis=*/1), images);
  return batch->finish(b, images);
}

/// The images read where `makeMatrix(images, height, width)` says.
template <typename Matrix> Value importWarp(B &b, Matrix makeMatrix) {
  std::optional<Batch> batch = getBatch(b);
  std::optional<WarpSampling> sampling = getWarpSampling(b);
  if (!batch || !sampling || b.hasFailed())
    return {};
  Value images = batch->images;
  const AffineMatrix matrix =
      makeMatrix(images, double(b.shapeOf(images)[1]), double(b.shapeOf(images)[2]));
  return batch->finish(b, warpImages(b, images, matrix, *sampling));
}

Value importTranslation(B &b) {
  auto rows = getRange(b, "height_factor", -1), columns = getRange(b, "width_factor", -1);
  if (!rows || !columns)
    return {};
  return importWarp(b, [&](Value images, double height, double width) -> AffineMatrix {
    auto distance = [&](Range range, double extent) {
      return b.make<NegateOp>(b.make<MultiplyOp>(draw(b, images, range), b.makeConstant(extent)));
    };
    Value down = distance(*rows, height), right = distance(*columns, width),
          one = b.makeConstant(1);
    return {one, {}, right, {}, one, down};
  });
}

Value importZoom(B &b) {
  const llvm::json::Value *widthFactor = b.layer.config.get("width_factor");
  const bool hasWidth = widthFactor && !widthFactor->getAsNull();
  auto rows = getRange(b, "height_factor", -1), columns = getRange(b, "width_factor", -1);
  if (!rows || !columns)
    return {};
  return importWarp(b, [&](Value images, double height, double width) -> AffineMatrix {
    auto drawZoom = [&](Range range) {
      return draw(b, images, {1.0 + range.low, 1.0 + range.high});
    };
    // About the centre.
    auto offset = [&](Value zoom, double extent) {
      return b.make<MultiplyOp>(b.makeConstant((extent - 1.0) / 2.0),
                                b.make<SubtractOp>(b.makeConstant(1), zoom));
    };
    Value down = drawZoom(*rows), right = hasWidth ? drawZoom(*columns) : down;
    return {right, {}, offset(right, width), {}, down, offset(down, height)};
  });
}

Value importRotation(B &b) {
  auto turns = getRange(b, "factor", -1);
  if (!turns)
    return {};
  return importWarp(b, [&](Value images, double height, double width) -> AffineMatrix {
    Value degrees = draw(b, images, {turns->low * 360.0, turns->high * 360.0});
    Value angle = b.make<MultiplyOp>(degrees, b.makeConstant(M_PI / 180.0));
    Value cosine = b.make<CosOp>(angle), sine = b.make<SinOp>(angle),
          negative = b.make<NegateOp>(sine);
    Value x = b.makeConstant(0.5 * (width - 1)), y = b.makeConstant(0.5 * (height - 1));
    auto offset = [&](Value centre, Value p, Value q) {
      Value rest = b.make<SubtractOp>(centre, b.make<MultiplyOp>(x, p));
      return b.make<SubtractOp>(rest, b.make<MultiplyOp>(y, q));
    };
    return {cosine, negative, offset(x, cosine, negative), sine, cosine, offset(y, sine, cosine)};
  });
}

Value importShear(B &b) {
  auto x = getRange(b, "x_factor", -1), y = getRange(b, "y_factor", -1);
  if (!x || !y)
    return {};
  return importWarp(b, [&](Value images, double, double) -> AffineMatrix {
    // Keras draws these in the compute dtype.
    Value like = sampleOf(b, images);
    Value sign = b.makeSelect(
        b.makeCompare(ComparePredicate::GT, drawLike(b, like, {0, 1}), b.makeConstant(0.5)),
        b.makeConstant(-1), b.makeConstant(1));
    auto factor = [&](Range range) {
      return b.makeCastTo(b.make<MultiplyOp>(drawLike(b, like, range), sign),
                          b.builder.getF32Type());
    };
    Value down = factor(*y), right = factor(*x), one = b.makeConstant(1);
    return {one, right, {}, down, one, {}};
  });
}

// ---- What values become -------------------------------------------------------------------------

Value clip(B &b, Value images, Range range) {
  return b.make<MinimumOp>(b.make<MaximumOp>(images, b.makeConstant(range.low)),
                           b.makeConstant(range.high));
}

Value importContrast(B &b) {
  std::optional<Batch> batch = getBatch(b);
  auto factor = getRange(b, "factor", 0), values = getRange(b, "value_range", -1, {0, 255});
  if (!batch || !factor || !values)
    return {};
  Value images = batch->images;
  Value strength =
      withChannel(b, drawLike(b, sampleOf(b, images), {1.0 - factor->low, 1.0 + factor->high}));
  Value mean = images;
  for (int64_t axis : {1, 2})
    mean = b.makeReduce(ReduceKind::Mean, mean, axis, /*keepDims=*/true);
  Value changed =
      b.make<AddOp>(b.make<MultiplyOp>(b.make<SubtractOp>(images, mean), strength), mean);
  return batch->finish(b, clip(b, changed, *values));
}

Value importBrightness(B &b) {
  std::optional<Batch> batch = getBatch(b);
  auto factor = getRange(b, "factor", -1), values = getRange(b, "value_range", -1, {0, 255});
  if (!batch || !factor || !values)
    return {};
  Value delta = b.make<MultiplyOp>(draw(b, batch->images, *factor),
                                   b.makeConstant(values->high - values->low));
  Value changed =
      b.make<AddOp>(batch->images, withChannel(b, b.makeCastLike(delta, batch->images)));
  return batch->finish(b, clip(b, changed, *values));
}

constexpr LayerEntry inferenceOnly(llvm::StringLiteral className) {
  return {className, importInferenceOnly};
}

constexpr LayerEntry kAugmentationLayers[] = {
    inferenceOnly("AugMix"),
    inferenceOnly("CutMix"),
    inferenceOnly("MixUp"),
    inferenceOnly("RandAugment"),
    {"RandomBrightness", importBrightness},
    inferenceOnly("RandomColorDegeneration"),
    inferenceOnly("RandomColorJitter"),
    {"RandomContrast", importContrast},
    inferenceOnly("RandomElasticTransform"),
    inferenceOnly("RandomErasing"),
    {"RandomFlip", importFlip},
    inferenceOnly("RandomGaussianBlur"),
    inferenceOnly("RandomGrayscale"),
    inferenceOnly("RandomHue"),
    inferenceOnly("RandomInvert"),
    inferenceOnly("RandomPerspective"),
    inferenceOnly("RandomPosterization"),
    {"RandomRotation", importRotation},
    inferenceOnly("RandomSaturation"),
    inferenceOnly("RandomSharpness"),
    {"RandomShear", importShear},
    {"RandomTranslation", importTranslation},
    {"RandomZoom", importZoom},
    inferenceOnly("Solarization"),
};

} // namespace

llvm::ArrayRef<LayerEntry> augmentationLayers() { return kAugmentationLayers; }

} // namespace mpc::keras
