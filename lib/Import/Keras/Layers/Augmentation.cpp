// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/preprocessing/image_preprocessing: layers that move the places of images at
// random in training, and those that only hand images on.
#include "lib/Import/Keras/LayerRegistry.h"
#include "lib/Import/Keras/Layers/RandomImages.h"
#include "lib/Import/Keras/Layers/Resampling.h"
#include "lib/Import/Keras/Layers/Warping.h"

#include <cmath>

namespace mpc::keras {
namespace {

using mlir::Value;
using B = LayerBuilder;

/// Imports layers that have no form for training.
Value importInferenceOnly(B &b) {
  b.precision().autocast = PrecisionWishes::Autocast::CastsIntegers;
  b.setInferenceOnly();
  return b.getFloatInput(/*castIntegers=*/true);
}

/// Keras 2 takes the largest part in the middle that has the crop's aspect ratio, in the crop's
/// size (tf_keras/src/utils/image_utils.py, smart_resize).
Value cropCentre(B &b, const ImageBatch &batch, int64_t height, int64_t width) {
  const bool isLast = batch.format == DataFormat::ChannelsLast;
  ResizedImages resized{{isLast ? 1 : 2, isLast ? 2 : 3}, {height, width}};
  resized.crops = true;
  return resizeImages(b, batch.input, resized);
}

/// Keras 3.15.1 crops in training alone and hands images of another size on at inference, where a
/// compiled model has one: those train whose images have the crop's size.
Value importCrop(B &b) {
  std::optional<ImageBatch> batch = getAugmentedImages(b);
  const int64_t height = b.getInteger("height", 0), width = b.getInteger("width", 0);
  if (!batch || b.hasFailed())
    return {};
  const bool changes =
      height != b.shapeOf(batch->images)[1] || width != b.shapeOf(batch->images)[2];
  if (changes)
    b.setInferenceOnly();
  if (changes && b.layer.version.isKeras2())
    return height < 1 || width < 1 ? b.error("'height' and 'width' of RandomCrop must be positive")
                                   : cropCentre(b, *batch, height, width);
  return batch->input;
}

// ---- Where places of the image go ---------------------------------------------------------------

Value importFlip(B &b) {
  std::optional<ImageBatch> batch = getAugmentedImages(b);
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
  std::optional<ImageBatch> batch = getAugmentedImages(b);
  std::optional<WarpSampling> sampling = getWarpSampling(b);
  if (!batch || !sampling || b.hasFailed())
    return {};
  Value images = batch->images;
  const ProjectiveMatrix matrix =
      makeMatrix(images, double(b.shapeOf(images)[1]), double(b.shapeOf(images)[2]));
  return batch->finish(b, warpImages(b, images, matrix, *sampling));
}

Value importTranslation(B &b) {
  auto rows = getRange(b, "height_factor", -1), columns = getRange(b, "width_factor", -1);
  if (!rows || !columns)
    return {};
  return importWarp(b, [&](Value images, double height, double width) -> ProjectiveMatrix {
    auto distance = [&](NumberRange range, double extent) {
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
  return importWarp(b, [&](Value images, double height, double width) -> ProjectiveMatrix {
    auto drawZoom = [&](NumberRange range) {
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
  return importWarp(b, [&](Value images, double height, double width) -> ProjectiveMatrix {
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
  return importWarp(b, [&](Value images, double, double) -> ProjectiveMatrix {
    // Keras draws these in the compute dtype.
    Value like = sampleOf(b, images);
    Value sign = b.makeSelect(
        b.makeCompare(ComparePredicate::GT, drawLike(b, like, {0, 1}), b.makeConstant(0.5)),
        b.makeConstant(-1), b.makeConstant(1));
    auto factor = [&](NumberRange range) {
      return b.makeCastTo(b.make<MultiplyOp>(drawLike(b, like, range), sign),
                          b.builder.getF32Type());
    };
    Value down = factor(*y), right = factor(*x), one = b.makeConstant(1);
    return {one, right, {}, down, one, {}};
  });
}

constexpr LayerEntry inferenceOnly(llvm::StringLiteral className) {
  return {className, importInferenceOnly};
}

constexpr LayerEntry kAugmentationLayers[] = {
    inferenceOnly("AugMix"),
    inferenceOnly("CutMix"),
    inferenceOnly("MixUp"),
    inferenceOnly("RandAugment"),
    {"RandomCrop", importCrop},
    inferenceOnly("RandomElasticTransform"),
    {"RandomFlip", importFlip},
    inferenceOnly("RandomPerspective"),
    {"RandomRotation", importRotation},
    {"RandomShear", importShear},
    {"RandomTranslation", importTranslation},
    {"RandomZoom", importZoom},
};

} // namespace

llvm::ArrayRef<LayerEntry> augmentationLayers() { return kAugmentationLayers; }

} // namespace mpc::keras
