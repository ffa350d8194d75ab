// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras.ops.image: resize, crop, pad, patches, grayscale of a batch of images.
#include "lib/Import/Keras/Operations/Images.h"

#include "lib/Import/Keras/Layers/Resampling.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using B = OperationBuilder;

Value resize(B &b) {
  std::optional<Images> images = Images::read(b);
  std::optional<llvm::SmallVector<int64_t>> size = b.getIntegers(kKeywordOnly, "size");
  if (!images || !size || size->size() != 2)
    return images && !b.hasFailed() ? b.error("'Resize' needs a 'size' of two integers") : Value();
  if (llvm::any_of(*size, [](int64_t n) { return n < 1 || n > (1 << 20); }))
    return b.error("'size' of 'Resize' must be positive");
  ResizedImages resized{{images->height, images->width}, *size};
  resized.interpolation =
      llvm::StringRef(b.getString(kKeywordOnly, "interpolation", "bilinear")).lower();
  resized.antialias = b.getFlag(kKeywordOnly, "antialias", false);
  resized.crops = b.getFlag(kKeywordOnly, "crop_to_aspect_ratio", false);
  resized.pads = b.getFlag(kKeywordOnly, "pad_to_aspect_ratio", false);
  resized.fill = b.getNumber(kKeywordOnly, "fill_value").value_or(0.0);
  // Nearest neighbours keep integers; other weights are floats, rounded back as Keras does not.
  if (!mlir::isa<mlir::FloatType>(elementTypeOf(images->x)) && resized.interpolation != "nearest")
    return b.error("'Resize' of integers is supported with interpolation nearest; cast them first");
  return b.hasFailed() ? Value() : resizeImages(b, images->x, resized);
}

/// 0.2989 R + 0.5870 G + 0.1140 B
Value toGrayscale(B &b) {
  std::optional<Images> images = Images::read(b);
  if (!images)
    return {};
  const int64_t channels = images->extent(images->channels);
  if (channels == 1)
    return images->x;
  if (channels != 3 || !mlir::isa<mlir::FloatType>(elementTypeOf(images->x)))
    return b.error("'RGBToGrayscale' takes floating images of 1 or 3 channels");
  Value weights = b.makeCastLike(b.makeConstant({3}, {0.2989, 0.5870, 0.1140}), images->x);
  Value y = b.make<ContractOp>(images->x, weights, llvm::ArrayRef<int64_t>{images->channels},
                               llvm::ArrayRef<int64_t>{0});
  llvm::SmallVector<int64_t> shape(b.shapeOf(images->x));
  shape[images->channels] = 1;
  return b.makeReshape(y, shape);
}

/// Numbers before and after an axis and its new extent, one of which follows from the others;
/// `sign` is 1 where they are added. Nothing after an error.
std::optional<std::pair<int64_t, int64_t>> readBorders(B &b, llvm::StringRef before,
                                                       llvm::StringRef after,
                                                       llvm::StringRef target, int64_t extent,
                                                       int64_t sign) {
  std::optional<int64_t> low = b.getInteger(kKeywordOnly, before),
                         high = b.getInteger(kKeywordOnly, after),
                         wanted = b.getInteger(kKeywordOnly, target);
  if (b.hasFailed())
    return std::nullopt;
  if (!low && high && wanted)
    low = sign * (*wanted - extent) - *high;
  if (!high && low && wanted)
    high = sign * (*wanted - extent) - *low;
  if (low && high && *low >= 0 && *high >= 0 && *low <= kMostSpatial && *high <= kMostSpatial &&
      (sign > 0 || extent - *low - *high > 0))
    return std::pair(*low, *high);
  b.error("'" + b.layer.className + "' needs two of '" + before + "', '" + after + "' and '" +
          target + "', none negative, that leave something of the image");
  return std::nullopt;
}

Value cropImages(B &b) {
  std::optional<Images> images = Images::read(b);
  if (!images)
    return {};
  Value x = images->x;
  auto crop = [&](int64_t axis, llvm::StringRef before, llvm::StringRef after,
                  llvm::StringRef target) {
    const int64_t extent = images->extent(axis);
    auto borders = readBorders(b, before, after, target, extent, -1);
    if (borders && borders->first + borders->second > 0)
      x = b.make<SliceOp>(x, axis, borders->first, extent - borders->first - borders->second);
  };
  crop(images->height, "top_cropping", "bottom_cropping", "target_height");
  crop(images->width, "left_cropping", "right_cropping", "target_width");
  return b.hasFailed() ? Value() : x;
}

Value padImages(B &b) {
  std::optional<Images> images = Images::read(b);
  if (!images)
    return {};
  Value x = images->x;
  if (!mlir::isa<mlir::FloatType>(elementTypeOf(x)))
    return b.error("'PadImages' of integers is not supported; cast them first");
  auto pad = [&](int64_t axis, llvm::StringRef before, llvm::StringRef after,
                 llvm::StringRef target) {
    auto borders = readBorders(b, before, after, target, images->extent(axis), 1);
    if (borders && borders->first + borders->second > 0)
      x = b.make<PadOp>(x, axis, borders->first, borders->second, llvm::APFloat(0.0));
  };
  pad(images->height, "top_padding", "bottom_padding", "target_height");
  pad(images->width, "left_padding", "right_padding", "target_width");
  return b.hasFailed() ? Value() : x;
}

/// Windows as channels, in the order (row, column, channel). Windows side by side are a
/// rearrangement; others are one selection for each place in the window.
Value extractPatches(B &b) {
  std::optional<Images> images = Images::read(b);
  std::optional<llvm::SmallVector<int64_t>> size = b.getIntegers(kKeywordOnly, "size"),
                                            strides = b.getIntegers(kKeywordOnly, "strides"),
                                            dilation = b.getIntegers(kKeywordOnly, "dilation_rate");
  if (!images || !size || b.hasFailed())
    return images && !b.hasFailed() ? b.error("'ExtractPatches' needs a 'size'") : Value();
  auto complete = [&](std::optional<llvm::SmallVector<int64_t>> &numbers,
                      llvm::ArrayRef<int64_t> otherwise) {
    if (!numbers)
      numbers.emplace(otherwise);
    if (numbers->size() == 1)
      numbers->push_back(numbers->front());
    return numbers->size() == 2 &&
           llvm::all_of(*numbers, [](int64_t n) { return n >= 1 && n <= (1 << 20); });
  };
  if (!complete(size, {}) || !complete(strides, *size) || !complete(dilation, {1, 1}))
    return b.error("'size', 'strides' and 'dilation_rate' of 'ExtractPatches' must be one or two "
                   "positive integers; patches of volumes are not supported");
  if (images->channels != 3)
    return b.error("'ExtractPatches' of channels_first images is not supported; transpose them");
  const bool same =
      llvm::StringRef(b.getString(kKeywordOnly, "padding", "valid")).lower() == "same";
  Value x = images->x;
  const int64_t batch = images->extent(0), channels = images->extent(3);
  int64_t places[2], low[2];
  for (int64_t d : {0, 1}) {
    const int64_t extent = images->extent(d + 1), reach = ((*size)[d] - 1) * (*dilation)[d] + 1;
    low[d] = same ? samePadding(extent, reach, (*strides)[d]).first : 0;
    places[d] =
        same ? (extent + (*strides)[d] - 1) / (*strides)[d] : (extent - reach) / (*strides)[d] + 1;
    if (reach > extent && !same)
      return b.error("'ExtractPatches' of " + llvm::Twine(reach) + " elements from " +
                     llvm::Twine(extent));
  }
  if (*strides == *size && !low[0] && !low[1] && (*dilation)[0] == 1 && (*dilation)[1] == 1 &&
      places[0] * (*size)[0] <= images->extent(1) && places[1] * (*size)[1] <= images->extent(2)) {
    for (int64_t d : {0, 1})
      if (const int64_t used = places[d] * (*size)[d]; used != images->extent(d + 1))
        x = b.make<SliceOp>(x, d + 1, int64_t(0), used);
    x = b.makeReshape(x, {batch, places[0], (*size)[0], places[1], (*size)[1], channels});
    x = b.make<TransposeOp>(x, llvm::ArrayRef<int64_t>{0, 1, 3, 2, 4, 5});
    return b.makeReshape(x, {batch, places[0], places[1], (*size)[0] * (*size)[1] * channels});
  }
  if ((*size)[0] * (*size)[1] > 4096 || !mlir::isa<mlir::FloatType>(elementTypeOf(x)))
    return b.error("'ExtractPatches' that overlap are supported of floating images, with at most "
                   "4096 places in a patch");
  llvm::SmallVector<Value> parts;
  for (int64_t row = 0; row < (*size)[0]; ++row)
    for (int64_t column = 0; column < (*size)[1]; ++column) {
      llvm::SmallVector<ResampleTable> tables(2);
      for (int64_t d : {0, 1}) {
        tables[d].axis = d + 1;
        for (int64_t place = 0; place < places[d]; ++place) {
          const int64_t from = place * (*strides)[d] - low[d] + (d ? column : row) * (*dilation)[d];
          tables[d].indices.push_back(from >= 0 && from < images->extent(d + 1) ? from : -1);
        }
      }
      parts.push_back(b.make<ResampleOp>(x, llvm::ArrayRef<ResampleTable>(tables)));
    }
  return parts.size() == 1 ? parts.front()
                           : b.make<ConcatenateOp>(mlir::ValueRange(parts), int64_t(3));
}

constexpr OperationEntry kImageOperations[] = {
    {"CropImages", cropImages}, {"ExtractPatches", extractPatches},
    {"PadImages", padImages},   {"RGBToGrayscale", toGrayscale},
    {"Resize", resize},
};

} // namespace

std::optional<Images> Images::read(OperationBuilder &b, llvm::StringRef name, unsigned position) {
  Images images;
  images.x = b.getValue(position, name);
  std::optional<DataFormat> format =
      parseDataFormat(b, b.getString(kKeywordOnly, "data_format", "channels_last"));
  if (!images.x || !format)
    return std::nullopt;
  if (b.rankOf(images.x) != 4) {
    b.error("'" + b.layer.className + "' takes a batch of images of 4 dimensions");
    return std::nullopt;
  }
  images.format = *format;
  images.height = spatialAxis(*format, 0);
  images.width = spatialAxis(*format, 1);
  images.channels = *format == DataFormat::ChannelsLast ? 3 : 1;
  return images;
}

std::optional<Images> Images::readFloats(OperationBuilder &b, llvm::StringRef name,
                                         unsigned position) {
  std::optional<Images> images = read(b, name, position);
  if (!images)
    return images;
  if (!mlir::isa<mlir::FloatType>(elementTypeOf(images->x)) ||
      llvm::any_of(b.shapeOf(images->x).drop_front(), [](int64_t n) { return n < 1; })) {
    b.error("'" + b.layer.className + "' takes floating images that are not empty");
    return std::nullopt;
  }
  images->x = toChannelsLast(b, images->format, images->x);
  images->height = 1, images->width = 2, images->channels = 3;
  return images;
}

llvm::ArrayRef<OperationEntry> imageOperations() { return kImageOperations; }

} // namespace mpc::keras
