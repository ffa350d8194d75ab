// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/preprocessing/image_preprocessing: layers that change the colours of images at
// random in training.
#include "lib/Import/Keras/LayerRegistry.h"
#include "lib/Import/Keras/Layers/Colours.h"
#include "lib/Import/Keras/Layers/RandomImages.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using B = LayerBuilder;

// ---- Brightness and contrast --------------------------------------------------------------------

Value changeBrightness(B &b, Value images, NumberRange factor, NumberRange values) {
  Value delta =
      b.make<MultiplyOp>(draw(b, images, factor), b.makeConstant(values.high - values.low));
  return clip(b, b.make<AddOp>(images, withChannel(b, b.makeCastLike(delta, images))), values);
}

Value changeContrast(B &b, Value images, NumberRange factor, NumberRange values) {
  Value strength =
      withChannel(b, drawLike(b, sampleOf(b, images), {1.0 - factor.low, 1.0 + factor.high}));
  Value mean = images;
  for (int64_t axis : {1, 2})
    mean = b.makeReduce(ReduceKind::Mean, mean, axis, /*keepDims=*/true);
  Value changed =
      b.make<AddOp>(b.make<MultiplyOp>(b.make<SubtractOp>(images, mean), strength), mean);
  return clip(b, changed, values);
}

// ---- Hue and saturation, in float32 or wider
// -----------------------------------------------------

bool hasThreeChannels(B &b, Value images) {
  if (b.shapeOf(images)[3] == 3)
    return true;
  b.error(b.layer.className + " takes images of 3 channels, not " +
          llvm::Twine(b.shapeOf(images)[3]));
  return false;
}

Value changeSaturation(B &b, Value images, NumberRange factor, NumberRange values) {
  if (!hasThreeChannels(b, images))
    return {};
  Value drawn = draw(b, images, factor);
  Value odds = b.make<DivideOp>(
      drawn, b.make<AddOp>(b.make<SubtractOp>(b.makeConstant(1), drawn), b.makeConstant(1e-7)));
  Colours colours = toHueSaturationValue(b, widen(b, images));
  Value strength = withChannel(b, widen(b, b.makeCastLike(odds, images)));
  colours[1] = clip(b, b.make<MultiplyOp>(colours[1], strength), values);
  return b.makeCastLike(toImages(b, colours), images);
}

Value changeHue(B &b, Value images, NumberRange factor, NumberRange values) {
  if (!hasThreeChannels(b, images))
    return {};
  Value sign = b.makeSelect(ComparePredicate::GT, draw(b, images, {0, 1}), b.makeConstant(0.5),
                            b.makeConstant(-1), b.makeConstant(1));
  Value turn =
      b.make<MultiplyOp>(b.make<MultiplyOp>(sign, draw(b, images, factor)), b.makeConstant(0.5));
  // Other ranges are moved to this one in float32, whatever the policy says.
  const bool isUnit = values.low == 0 && values.high == 1;
  Value wide = isUnit ? widen(b, images) : b.makeCastTo(images, b.builder.getF32Type());
  Colours colours = toHueSaturationValue(b, moveRange(b, wide, values, {0, 1}));
  Value one = b.makeConstant(1), hue = b.make<AddOp>(colours[0], withChannel(b, turn));
  hue = b.makeSelect(ComparePredicate::GT, hue, one, b.make<SubtractOp>(hue, one), hue);
  colours[0] =
      b.makeSelect(ComparePredicate::LT, hue, b.makeConstant(0), b.make<AddOp>(hue, one), hue);
  Value changed = moveRange(b, clip(b, toImages(b, colours), {0, 1}), {0, 1}, values);
  return b.makeCastLike(changed, images);
}

// ---- The layers ---------------------------------------------------------------------------------

using Change = Value (*)(B &, Value images, NumberRange factor, NumberRange values);

/// A layer of one factor, which is not below `least`.
template <Change change, int least> Value importChange(B &b) {
  std::optional<ImageBatch> batch = getAugmentedImages(b);
  auto factor = getRange(b, "factor", least), values = getValueRange(b);
  if (!batch || !factor || !values)
    return {};
  return batch->finish(b, change(b, batch->images, *factor, *values));
}

/// The four of them in a row, of layers that compute in float32; between the last two nothing is
/// rounded to less.
Value importJitter(B &b) {
  std::optional<ImageBatch> batch = getAugmentedImages(b);
  auto values = getValueRange(b);
  if (!batch || !values)
    return {};
  Value images = batch->images;
  auto apply = [&](llvm::StringRef key, double least, Change change) {
    const llvm::json::Value *given = b.layer.config.get(key);
    if (!images || !given || given->getAsNull())
      return;
    auto factor = getRange(b, key, least);
    images = factor ? change(b, images, *factor, *values) : Value();
  };
  apply("brightness_factor", -1, changeBrightness);
  apply("contrast_factor", 0, changeContrast);
  if (!images)
    return {};
  images = widen(b, images);
  apply("saturation_factor", -1, changeSaturation);
  if (!images)
    return {};
  images = b.makeCastTo(images, b.builder.getF32Type());
  apply("hue_factor", 0, changeHue);
  return images ? batch->finish(b, b.makeCastLike(images, batch->images)) : Value();
}

/// 0.2989 R + 0.5870 G + 0.1140 B, [batch, height, width, 1]; null after an error.
Value makeGray(B &b, Value images) {
  if (b.shapeOf(images)[3] == 1)
    return images;
  if (!hasThreeChannels(b, images))
    return {};
  // Constants of several elements are float32: integers are exact in float64, too.
  Value weights = b.make<DivideOp>(widen(b, b.makeConstant({3}, {2989, 5870, 1140}), images),
                                   b.makeConstant(10000));
  weights = b.makeCastLike(weights, images);
  Value gray =
      b.make<ContractOp>(images, weights, llvm::ArrayRef<int64_t>{3}, llvm::ArrayRef<int64_t>{0});
  llvm::SmallVector<int64_t> shape(b.shapeOf(images));
  shape.back() = 1;
  return b.makeReshape(gray, shape);
}

Value fadeColours(B &b, Value images, NumberRange factor, NumberRange values) {
  Value gray = makeGray(b, images);
  if (!gray)
    return {};
  Value strength = withChannel(b, b.makeCastLike(draw(b, images, factor), images));
  Value change = b.make<MultiplyOp>(strength, b.make<SubtractOp>(gray, images));
  return clip(b, b.make<AddOp>(images, change), values);
}

Value importGrayscale(B &b) {
  std::optional<ImageBatch> batch = getAugmentedImages(b);
  const double factor = b.getNumber("factor", 0.5);
  Value gray = batch && !b.hasFailed() ? makeGray(b, batch->images) : Value();
  if (!gray)
    return {};
  Value applies =
      b.makeCompare(ComparePredicate::LT, draw(b, batch->images, {0, 1}), b.makeConstant(factor));
  return batch->finish(b, b.makeSelect(withChannel(b, applies), gray, batch->images));
}

Value invert(B &b, Value images, NumberRange factor, NumberRange values) {
  Value inverted = b.make<SubtractOp>(b.makeConstant(values.high), images);
  return b.makeSelect(drawDecision(b, images, factor), inverted, images);
}

/// The upper bits of 8-bit colours, as many as drawn. Multiples of a power of two, which floats
/// count exactly.
Value posterize(B &b, Value images, NumberRange factor, NumberRange values) {
  if (factor.low < 1 || factor.high > 8)
    return b.error("'factor' of RandomPosterization must be in [1, 8]");
  Value bits = draw(b, images, factor);
  if (factor.low != factor.high) // an integer below factor.high
    bits = b.make<MinimumOp>(b.make<FloorOp>(bits), b.makeConstant(factor.high - 1));
  auto integers = mlir::RankedTensorType::get(b.shapeOf(bits), b.builder.getI32Type());
  Value steps = b.makeCastLike(b.makeConstant({9}, {128, 128, 64, 32, 16, 8, 4, 2, 1}), images);
  Value step = withChannel(b, b.make<GatherOp>(steps, b.make<CastOp>(integers, bits),
                                               /*axis=*/0, /*batch_dims=*/0));
  Value colours = b.make<FloorOp>(clip(b, moveRange(b, images, values, {0, 255}), {0, 255}));
  colours = b.make<MultiplyOp>(b.make<FloorOp>(b.make<DivideOp>(colours, step)), step);
  return moveRange(b, colours, {0, 255}, values);
}

/// Keras multiplies only the upper ends of the factors by 255.
Value importSolarization(B &b) {
  std::optional<ImageBatch> batch = getAugmentedImages(b);
  auto values = getValueRange(b);
  auto getFactor = [&](llvm::StringRef key) {
    auto factor = getRange(b, key, /*least=*/0);
    return factor ? std::optional(NumberRange{factor->low, factor->high * 255}) : std::nullopt;
  };
  auto additions = getFactor("addition_factor"), thresholds = getFactor("threshold_factor");
  if (!batch || !values || !additions || !thresholds)
    return {};
  Value like = sampleOf(b, batch->images);
  Value images = b.make<AddOp>(moveRange(b, batch->images, *values, {0, 255}),
                               withChannel(b, drawLike(b, like, *additions)));
  images = clip(b, images, {0, 255});
  images =
      b.makeSelect(ComparePredicate::LT, images, withChannel(b, drawLike(b, like, *thresholds)),
                   images, b.make<SubtractOp>(b.makeConstant(255), images));
  return batch->finish(b, moveRange(b, images, {0, 255}, *values));
}

constexpr LayerEntry kColorLayers[] = {
    {"RandomBrightness", importChange<changeBrightness, -1>},
    {"RandomColorDegeneration", importChange<fadeColours, -1>},
    {"RandomColorJitter", importJitter},
    {"RandomContrast", importChange<changeContrast, 0>},
    {"RandomGrayscale", importGrayscale},
    {"RandomHue", importChange<changeHue, 0>},
    {"RandomInvert", importChange<invert, 0>},
    {"RandomPosterization", importChange<posterize, 1>},
    {"RandomSaturation", importChange<changeSaturation, -1>},
    {"Solarization", importSolarization},
};

} // namespace

llvm::ArrayRef<LayerEntry> colorAugmentationLayers() { return kColorLayers; }

} // namespace mpc::keras
