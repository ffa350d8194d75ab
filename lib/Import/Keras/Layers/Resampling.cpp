// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layers that cut, extend, repeat and resize along spatial dimensions: keras/src/layers/reshaping
// (Cropping, ZeroPadding, UpSampling, RepeatVector) and preprocessing/image_preprocessing
// (Resizing, CenterCrop).
#include "lib/Import/Keras/Layers/Resampling.h"

#include "lib/Import/Common/Interpolation.h"
#include "lib/Import/Keras/LayerRegistry.h"

#include <numeric>

namespace mpc::keras {
namespace {

using mlir::Value;

/// The config entry `key` as numbers before and after each dimension: an integer for all, or a list
/// with an integer or a pair for each; for one dimension also one pair.
std::optional<llvm::SmallVector<std::pair<int64_t, int64_t>>>
getPairs(LayerBuilder &b, llvm::StringRef key, int64_t spatial) {
  const llvm::json::Value *value = b.layer.config.get(key);
  llvm::SmallVector<std::pair<int64_t, int64_t>> pairs;
  auto read = [&](const llvm::json::Value &item) {
    if (std::optional<int64_t> integer = item.getAsInteger()) {
      pairs.push_back({*integer, *integer});
      return;
    }
    const llvm::json::Array *pair = item.getAsArray();
    if (!pair || pair->size() != 2)
      return;
    pairs.push_back(
        {(*pair)[0].getAsInteger().value_or(-1), (*pair)[1].getAsInteger().value_or(-1)});
  };
  const llvm::json::Array *array = value ? value->getAsArray() : nullptr;
  if (!value || value->getAsInteger())
    for (int64_t d = 0; d < spatial; ++d)
      read(value ? *value : llvm::json::Value(1));
  else if (spatial == 1)
    read(*value);
  else if (array && int64_t(array->size()) == spatial)
    for (const llvm::json::Value &item : *array)
      read(item);
  bool valid = int64_t(pairs.size()) == spatial && llvm::all_of(pairs, [](auto pair) {
                 return pair.first >= 0 && pair.second >= 0 && pair.first <= kMostSpatial &&
                        pair.second <= kMostSpatial;
               });
  if (valid)
    return pairs;
  b.error("'" + key + "' of " + b.layer.className + " must be an integer or " +
          llvm::Twine(spatial) + " integers or pairs, none negative");
  return std::nullopt;
}

Value slice(ValueBuilder &b, Value x, int64_t axis, int64_t offset, int64_t size) {
  if (offset == 0 && size == b.shapeOf(x)[axis])
    return x;
  return b.make<SliceOp>(x, axis, offset, size);
}

Value pad(ValueBuilder &b, Value x, int64_t axis, int64_t low, int64_t high, double value) {
  if (low == 0 && high == 0)
    return x;
  return b.make<PadOp>(x, axis, low, high, llvm::APFloat(value));
}

/// Zeros around elements of any type.
Value padWithZeros(LayerBuilder &b, Value x, int64_t axis, int64_t low, int64_t high) {
  if (mlir::isa<mlir::FloatType>(elementTypeOf(x)) || (low == 0 && high == 0))
    return pad(b, x, axis, low, high, 0);
  const int64_t extent = b.shapeOf(x)[axis];
  if (low + high + extent > (int64_t(1) << 24))
    return b.error("the result is too large");
  ResampleTable table;
  table.axis = axis;
  table.indices.assign(size_t(low + extent + high), -1);
  std::iota(table.indices.begin() + low, table.indices.begin() + low + extent, int64_t(0));
  return b.make<ResampleOp>(x, llvm::ArrayRef<ResampleTable>(table));
}

template <int64_t spatial> Value importZeroPadding(LayerBuilder &b) {
  Value x = getImages(b, spatial, Integers::Kept);
  auto format = getDataFormat(b);
  auto pairs = getPairs(b, "padding", spatial);
  if (!x || !format || !pairs)
    return {};
  for (auto [d, pair] : llvm::enumerate(*pairs))
    if (!(x = padWithZeros(b, x, spatialAxis(*format, d), pair.first, pair.second)))
      return {};
  return x;
}

template <int64_t spatial> Value importCropping(LayerBuilder &b) {
  Value x = b.getInput();
  auto format = getDataFormat(b);
  auto pairs = getPairs(b, "cropping", spatial);
  if (!x || !format || !pairs)
    return {};
  if (b.rankOf(x) != spatial + 2)
    return b.error(b.layer.className + " takes an input of " + llvm::Twine(spatial + 2) +
                   " dimensions, not " + llvm::Twine(b.rankOf(x)));
  for (auto [d, pair] : llvm::enumerate(*pairs)) {
    const int64_t axis = spatialAxis(*format, d),
                  rest = b.shapeOf(x)[axis] - pair.first - pair.second;
    if (rest <= 0)
      return b.error("'cropping' leaves nothing of the " + llvm::Twine(b.shapeOf(x)[axis]) +
                     " elements of axis " + llvm::Twine(axis));
    x = slice(b, x, axis, pair.first, rest);
  }
  return x;
}

/// Each element `times[i]` times along `axes[i]`.
Value repeat(LayerBuilder &b, Value x, llvm::ArrayRef<int64_t> axes,
             llvm::ArrayRef<int64_t> times) {
  llvm::SmallVector<ResampleTable> tables;
  for (auto [axis, count] : llvm::zip_equal(axes, times)) {
    if (count > kMostSpatial / std::max<int64_t>(b.shapeOf(x)[axis], 1) ||
        b.shapeOf(x)[axis] * count > (int64_t(1) << 24))
      return b.error("the result is too large");
    if (count != 1)
      tables.push_back(repeatElements(axis, b.shapeOf(x)[axis], count));
  }
  return tables.empty() ? x : b.make<ResampleOp>(x, llvm::ArrayRef<ResampleTable>(tables));
}

/// To `size` along `axes`.
Value resize(ValueBuilder &b, Value x, llvm::ArrayRef<int64_t> axes, llvm::ArrayRef<int64_t> size,
             llvm::StringRef interpolation, bool antialias) {
  llvm::SmallVector<ResampleTable> tables;
  bool changes = false;
  for (auto [axis, places] : llvm::zip_equal(axes, size)) {
    const int64_t extent = b.shapeOf(x)[axis];
    // Tables are part of the model: a bound on what a file may ask for.
    if (places < 1 || places > (int64_t(1) << 20) || extent > (int64_t(1) << 20))
      return b.error("an extent of " + llvm::Twine(places) + " is out of range");
    auto table = interpolate(interpolation, antialias, axis, extent, places);
    if (!table)
      return b.error(
          "interpolation '" + interpolation +
          "'; expected nearest, bilinear, bicubic, area, lanczos3, lanczos5, gaussian or "
          "mitchellcubic");
    changes |= places != extent;
    tables.push_back(std::move(*table));
  }
  // tf.image.resize returns images of the right size as they are.
  return changes ? b.make<ResampleOp>(x, llvm::ArrayRef<ResampleTable>(tables)) : x;
}

template <int64_t spatial> Value importUpSampling(LayerBuilder &b) {
  Value x = b.getInput();
  auto format = getDataFormat(b);
  auto size = getNumbers(b, "size", spatial, 2);
  const std::string interpolation =
      llvm::StringRef(b.getString("interpolation", "nearest")).lower();
  if (!x || !format || !size)
    return {};
  if (b.rankOf(x) != spatial + 2)
    return b.error(b.layer.className + " takes an input of " + llvm::Twine(spatial + 2) +
                   " dimensions, not " + llvm::Twine(b.rankOf(x)));
  llvm::SmallVector<int64_t> axes, extents;
  for (int64_t d = 0; d < spatial; ++d) {
    axes.push_back(spatialAxis(*format, d));
    extents.push_back(b.shapeOf(x)[axes.back()] * (*size)[d]);
  }
  if (spatial != 2 || interpolation == "nearest")
    return repeat(b, x, axes, *size);
  if (!(x = b.getFloatInput()))
    return {};
  // resize_bilinear, which Keras called before tf.keras took tf.image.resize.
  const KerasVersion version = b.layer.version;
  if (interpolation == "bilinear" && version.isKeras2() &&
      (!version.ofTensorFlow || version.isBefore(2, 2))) {
    llvm::SmallVector<ResampleTable> tables;
    for (auto [axis, places] : llvm::zip_equal(axes, extents)) {
      if (places < 1 || places > (int64_t(1) << 20))
        return b.error("an extent of " + llvm::Twine(places) + " is out of range");
      tables.push_back(interpolateAsVersion1(/*isNearest=*/false, /*alignsCorners=*/false, axis,
                                             b.shapeOf(x)[axis], places));
    }
    return b.make<ResampleOp>(x, llvm::ArrayRef<ResampleTable>(tables));
  }
  return resize(b, x, axes, extents, interpolation, /*antialias=*/false);
}

Value importRepeatVector(LayerBuilder &b) {
  Value x = b.getInput();
  const int64_t times = b.getInteger("n", 0);
  if (!x)
    return {};
  if (b.rankOf(x) != 2 || times < 1)
    return b.error("RepeatVector takes an input of 2 dimensions and a positive 'n'");
  x = b.makeReshape(x, {b.shapeOf(x)[0], 1, b.shapeOf(x)[1]});
  return repeat(b, x, {1}, {times});
}

// ---- Images -------------------------------------------------------------------------------------

/// A batch of images, its two axes and the wanted extents; nothing after an error.
struct Images {
  Value x;
  llvm::SmallVector<int64_t> axes, size;
};

std::optional<Images> getImageBatch(LayerBuilder &b) {
  // Keras casts integer images too where a model runs as a graph.
  b.precision().autocast = PrecisionWishes::Autocast::CastsIntegers;
  Images images{getImages(b, 2, Integers::Cast), {}, {}};
  auto format = getDataFormat(b);
  images.size = {b.getInteger("height", 0), b.getInteger("width", 0)};
  if (!images.x || !format || b.hasFailed())
    return std::nullopt;
  if (llvm::any_of(images.size, [](int64_t n) { return n < 1 || n > (1 << 20); })) {
    b.error("'height' and 'width' of " + b.layer.className + " must be positive");
    return std::nullopt;
  }
  images.axes = {spatialAxis(*format, 0), spatialAxis(*format, 1)};
  return images;
}

/// The largest part in the middle that has the aspect ratio of `size` (tf: in float32, truncated;
/// extents below 2^24 are exact).
Value cropToAspectRatio(ValueBuilder &b, Value x, const ResizedImages &images) {
  const int64_t height = b.shapeOf(x)[images.axes[0]], width = b.shapeOf(x)[images.axes[1]];
  auto crop = [](int64_t own, int64_t other, int64_t target, int64_t otherTarget) {
    auto wanted = int64_t(float(other * target) / float(otherTarget));
    return std::max<int64_t>(std::min(own, wanted), 1);
  };
  const int64_t cropHeight = crop(height, width, images.size[0], images.size[1]);
  const int64_t cropWidth = crop(width, height, images.size[1], images.size[0]);
  x = slice(b, x, images.axes[0], (height - cropHeight) / 2, cropHeight);
  return slice(b, x, images.axes[1], (width - cropWidth) / 2, cropWidth);
}

/// As many elements on both sides as make the aspect ratio that of `size`.
Value padToAspectRatio(ValueBuilder &b, Value x, const ResizedImages &images) {
  const int64_t height = b.shapeOf(x)[images.axes[0]], width = b.shapeOf(x)[images.axes[1]];
  auto extend = [](int64_t own, int64_t other, int64_t target, int64_t otherTarget) {
    auto wanted = int64_t(float(other * target) / float(otherTarget));
    return (std::max(own, wanted) - own) / 2;
  };
  const int64_t rows = extend(height, width, images.size[0], images.size[1]);
  const int64_t columns = extend(width, height, images.size[1], images.size[0]);
  if (std::max(rows, columns) > (int64_t(1) << 20))
    return b.error("padding to the aspect ratio is out of range");
  x = pad(b, x, images.axes[0], rows, rows, images.fill);
  return pad(b, x, images.axes[1], columns, columns, images.fill);
}

Value importResizing(LayerBuilder &b) {
  auto images = getImageBatch(b);
  ResizedImages resized;
  resized.interpolation = llvm::StringRef(b.getString("interpolation", "bilinear")).lower();
  resized.antialias = b.getFlag("antialias", false);
  resized.crops = b.getFlag("crop_to_aspect_ratio", false);
  resized.pads = b.getFlag("pad_to_aspect_ratio", false);
  resized.fill = b.getNumber("fill_value", 0.0);
  if (b.getString("fill_mode", "constant") != "constant")
    b.error("'fill_mode' must be constant");
  if (!images || b.hasFailed())
    return {};
  resized.axes = images->axes;
  resized.size = images->size;
  return resizeImages(b, images->x, resized);
}

Value importCenterCrop(LayerBuilder &b) {
  auto images = getImageBatch(b);
  if (!images)
    return {};
  Value x = images->x;
  const int64_t rows = b.shapeOf(x)[images->axes[0]] - images->size[0];
  const int64_t columns = b.shapeOf(x)[images->axes[1]] - images->size[1];
  if (rows >= 0 && columns >= 0) {
    x = slice(b, x, images->axes[0], rows / 2, images->size[0]);
    return slice(b, x, images->axes[1], columns / 2, images->size[1]);
  }
  // keras/src/utils/image_utils.py, smart_resize.
  ResizedImages resized{images->axes, images->size};
  resized.crops = true;
  return resizeImages(b, x, resized);
}

constexpr LayerEntry kResamplingLayers[] = {
    {"CenterCrop", importCenterCrop},        {"Cropping1D", importCropping<1>},
    {"Cropping2D", importCropping<2>},       {"Cropping3D", importCropping<3>},
    {"RepeatVector", importRepeatVector},    {"Resizing", importResizing},
    {"UpSampling1D", importUpSampling<1>},   {"UpSampling2D", importUpSampling<2>},
    {"UpSampling3D", importUpSampling<3>},   {"ZeroPadding1D", importZeroPadding<1>},
    {"ZeroPadding2D", importZeroPadding<2>}, {"ZeroPadding3D", importZeroPadding<3>},
};

} // namespace

Value resizeImages(ValueBuilder &b, Value x, const ResizedImages &images) {
  if (images.crops && images.pads)
    return b.error("'crop_to_aspect_ratio' and 'pad_to_aspect_ratio' exclude each other");
  if (images.crops)
    x = cropToAspectRatio(b, x, images);
  if (images.pads && !(x = padToAspectRatio(b, x, images)))
    return {};
  return resize(b, x, images.axes, images.size, images.interpolation, images.antialias);
}

llvm::ArrayRef<LayerEntry> resamplingLayers() { return kResamplingLayers; }

} // namespace mpc::keras
