// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tf.image of a batch of images, channels last. TensorFlowResize.cpp has the sizes.
#include "lib/Import/Keras/Legacy/TensorFlowBuilder.h"

#include "lib/Import/Keras/Dtype.h"

#include <cmath>

namespace mpc::keras {
namespace {

using mlir::Value;
using T = TensorFlowBuilder;

/// (batch, height, width, channels); null after an error.
Value getBatchOfImages(T &b) {
  const llvm::StringRef parameters = b.function.parameters;
  Value x = b.getTensor(parameters.split(' ').first.split('|').first);
  if (!x || b.rankOf(x) == 4)
    return x;
  return b.error("takes a batch of images of 4 dimensions");
}

Value getFloatImages(T &b) {
  Value x = getBatchOfImages(b);
  return !x || mlir::isa<mlir::FloatType>(elementTypeOf(x))
             ? x
             : b.error("of integers is not supported; cast them first");
}

Value imageUnary(T &b) {
  Value x = getFloatImages(b);
  return x ? b.call(b.function.operation, {{"images", x}}) : Value();
}

Value toRgb(T &b) {
  Value x = getBatchOfImages(b);
  if (!x || b.shapeOf(x).back() != 1)
    return x ? b.error("takes images of one channel") : Value();
  return b.call("Tile", {{"x", x}, {"repeats", llvm::json::Array{1, 1, 1, 3}}});
}

template <int axis> Value flip(T &b) {
  Value x = getBatchOfImages(b);
  return x ? b.call("Flip", {{"x", x}, {"axis", axis}}) : Value();
}

Value rotate(T &b) {
  Value x = getBatchOfImages(b);
  return x ? b.call("Rot90",
                    {{"array", x}, {"k", b.getInteger("k", 1)}, {"axes", llvm::json::Array{1, 2}}})
           : Value();
}

Value transposeImages(T &b) {
  Value x = getBatchOfImages(b);
  return x ? b.call("Transpose", {{"x", x}, {"axes", llvm::json::Array{0, 2, 1, 3}}}) : Value();
}

/// (x - mean) / max(standard deviation, 1 / sqrt(elements)), image by image.
Value standardize(T &b) {
  Value x = b.getFloat("image");
  if (!x || b.rankOf(x) != 4)
    return x ? b.error("takes a batch of images of 4 dimensions") : Value();
  const llvm::json::Value axes = llvm::json::Array{1, 2, 3};
  Value mean = b.call("Mean", {{"x", x}, {"axis", axes}, {"keepdims", true}});
  Value deviation = b.call("Std", {{"x", x}, {"axis", axes}, {"keepdims", true}});
  if (!mean || !deviation)
    return {};
  double count = 1;
  for (int64_t extent : b.shapeOf(x).drop_front())
    count *= double(extent);
  Value least = b.make<MaximumOp>(deviation, b.makeConstant(1.0 / std::sqrt(count)));
  return b.make<DivideOp>(b.make<SubtractOp>(x, mean), least);
}

/// Rows or columns of an axis, or zeros around it.
Value cut(T &b, Value x, int64_t axis, int64_t offset, int64_t size) {
  if (!x || (offset == 0 && size == b.shapeOf(x)[axis]))
    return x;
  if (offset < 0 || size < 1 || offset > b.shapeOf(x)[axis] - size)
    return b.error("takes what is outside of the images");
  return b.make<SliceOp>(x, axis, offset, size);
}

Value surround(T &b, Value x, int64_t axis, int64_t offset, int64_t size) {
  const int64_t rest = x ? size - offset - b.shapeOf(x)[axis] : 0;
  if (!x || (offset == 0 && rest == 0))
    return x;
  if (offset < 0 || rest < 0 || offset > 65536 || rest > 65536)
    return b.error("gives images that are smaller than what they hold, or too large");
  llvm::json::Array widths;
  for (int64_t d = 0; d < 4; ++d)
    widths.push_back(d == axis ? llvm::json::Array{offset, rest} : llvm::json::Array{0, 0});
  return b.call("Pad", {{"x", x}, {"pad_width", llvm::json::Value(std::move(widths))}});
}

template <Value (*place)(T &, Value, int64_t, int64_t, int64_t)> Value boundingBox(T &b) {
  Value x = getBatchOfImages(b);
  int64_t numbers[4] = {};
  const llvm::StringRef names[] = {"offset_height", "offset_width", "target_height",
                                   "target_width"};
  for (size_t i = 0; x && i < 4; ++i) {
    std::optional<int64_t> number = b.getInteger(names[i]);
    if (!number)
      return b.hasFailed() ? Value() : b.error("argument '" + names[i] + "' is missing");
    numbers[i] = *number;
  }
  x = place(b, x, 1, numbers[0], numbers[2]);
  return place(b, x, 2, numbers[1], numbers[3]);
}

/// Python's quotient of two, rounded down.
int64_t halfOf(int64_t number) { return number >= 0 ? number / 2 : -((1 - number) / 2); }

Value cropOrPad(T &b) {
  Value x = getBatchOfImages(b);
  std::optional<int64_t> rows = x ? b.getInteger("target_height") : std::nullopt,
                         columns = rows ? b.getInteger("target_width") : std::nullopt;
  if (!columns || *rows < 1 || *columns < 1)
    return x && !b.hasFailed() ? b.error("needs a known size") : Value();
  for (auto [axis, target] : {std::pair<int64_t, int64_t>{1, *rows}, {2, *columns}}) {
    const int64_t extent = x ? b.shapeOf(x)[axis] : 0, more = target - extent;
    x = more < 0 ? cut(b, x, axis, halfOf(-more), target)
                 : surround(b, x, axis, halfOf(more), target);
  }
  return x;
}

Value centralCrop(T &b) {
  Value x = getBatchOfImages(b);
  std::optional<double> fraction = x ? b.findNumber("central_fraction") : std::nullopt;
  if (!fraction || !(*fraction > 0.0 && *fraction <= 1.0))
    return x && !b.hasFailed() ? b.error("'central_fraction' must be in (0, 1]") : Value();
  for (int64_t axis : {1, 2}) {
    const double extent = double(b.shapeOf(x)[axis]);
    const auto start = int64_t((extent - extent * *fraction) / 2);
    x = cut(b, x, axis, start, b.shapeOf(x)[axis] - 2 * start);
    if (!x)
      return {};
  }
  return x;
}

/// Numbers for height and width out of one for each dimension.
std::optional<llvm::json::Value> ofPlane(T &b, llvm::StringRef name) {
  std::optional<llvm::SmallVector<int64_t>> numbers = b.getIntegers(name);
  if (!numbers || numbers->size() != 4 || (*numbers)[0] != 1 || (*numbers)[3] != 1) {
    b.error("'" + name + "' must be [1, rows, columns, 1]");
    return std::nullopt;
  }
  return llvm::json::Array{(*numbers)[1], (*numbers)[2]};
}

Value extractPatches(T &b) {
  Value x = getBatchOfImages(b);
  std::optional<llvm::json::Value> size = x ? ofPlane(b, "sizes") : std::nullopt,
                                   strides = size ? ofPlane(b, "strides") : std::nullopt,
                                   rates = strides ? ofPlane(b, "rates") : std::nullopt;
  return rates ? b.call("ExtractPatches",
                        {{"images", x},
                         {"size", *size},
                         {"strides", *strides},
                         {"dilation_rate", *rates},
                         {"padding", llvm::StringRef(b.getString("padding", "")).lower()}})
               : Value();
}

// ---- Colours ------------------------------------------------------------------------------------

Value adjustBrightness(T &b) {
  Value x = getFloatImages(b);
  Value delta = x ? b.getTensor("delta", x) : Value();
  return delta ? b.call("Add", {{"x1", x}, {"x2", delta}}) : Value();
}

Value adjustContrast(T &b) {
  Value x = getFloatImages(b);
  Value factor = x ? b.getTensor("contrast_factor", x) : Value();
  Value mean =
      factor ? b.call("Mean", {{"x", x}, {"axis", llvm::json::Array{1, 2}}, {"keepdims", true}})
             : Value();
  return mean ? b.make<AddOp>(b.make<MultiplyOp>(b.make<SubtractOp>(x, mean), factor), mean)
              : Value();
}

Value adjustGamma(T &b) {
  Value x = getFloatImages(b);
  if (!x)
    return {};
  Value y = b.make<PowerOp>(x, b.makeConstant(b.getNumber("gamma", 1.0)));
  return b.make<MultiplyOp>(y, b.makeConstant(b.getNumber("gain", 1.0)));
}

/// Scales the saturation, or turns the hue, of colours in [0, 1].
template <int channel> Value adjustHsv(T &b) {
  Value x = getFloatImages(b);
  if (!x || b.shapeOf(x).back() != 3)
    return x ? b.error("takes images of three channels") : Value();
  std::optional<double> number = b.findNumber(channel == 1 ? "saturation_factor" : "delta");
  Value hsv = number ? b.call("RGBToHSV", {{"images", x}}) : Value();
  if (!hsv)
    return b.hasFailed() ? Value() : b.error("needs a known number");
  llvm::SmallVector<Value> parts;
  for (int64_t i = 0; i < 3; ++i)
    parts.push_back(b.make<SliceOp>(hsv, int64_t(3), i, int64_t(1)));
  if (channel == 1) {
    Value scaled = b.make<MultiplyOp>(parts[1], b.makeConstant(*number));
    parts[1] = b.call("Clip", {{"x", scaled}, {"x_min", 0.0}, {"x_max", 1.0}});
  } else {
    Value turned = b.make<AddOp>(parts[0], b.makeConstant(*number));
    parts[0] = b.make<SubtractOp>(turned, b.make<FloorOp>(turned));
  }
  return b.call("HSVToRGB",
                {{"images", b.make<ConcatenateOp>(mlir::ValueRange(parts), int64_t(3))}});
}

/// A product of the channels with a matrix (tensorflow/python/ops/image_ops_impl.py).
template <int space> Value convertColours(T &b) {
  static constexpr double kMatrices[][9] = {
      {0.299, -0.14714119, 0.61497538, 0.587, -0.28886916, -0.51496512, 0.114, 0.43601035,
       -0.10001026},
      {1, 1, 1, 0, -0.394642334, 2.03206185, 1.13988303, -0.58062185, 0},
      {0.299, 0.59590059, 0.2115, 0.587, -0.27455667, -0.52273617, 0.114, -0.32134392, 0.31119955},
      {1, 1, 1, 0.95598634, -0.27201283, -1.10674021, 0.6208248, -0.64720424, 1.70423049}};
  Value x = getFloatImages(b);
  if (!x || b.shapeOf(x).back() != 3)
    return x ? b.error("takes images of three channels") : Value();
  return b.call("Matmul", {{"x1", x}, {"x2", b.makeConstant({3, 3}, kMatrices[space])}});
}

/// Between floating dtypes values stay; of integers the largest becomes 1.
Value convertDtype(T &b) {
  Value x = b.getTensor("image");
  if (!x)
    return {};
  const std::string dtype = b.getString("dtype", "");
  const mlir::Type from = elementTypeOf(x), to = dtypeElement(b.builder, dtype);
  if (to == from || (to && mlir::isa<mlir::FloatType>(from) && mlir::isa<mlir::FloatType>(to)))
    return b.cast(x, dtype);
  if (!to || !mlir::isa<mlir::FloatType>(to) || from.isInteger(1))
    return b.error("to integers is not supported");
  const unsigned width = from.getIntOrFloatBitWidth() - (from.isUnsignedInteger() ? 0 : 1);
  Value y = b.cast(x, dtype);
  return b.make<MultiplyOp>(y, b.makeConstant(1.0 / (std::ldexp(1.0, int(width)) - 1.0)));
}

/// The differences of neighbours in both directions, summed.
Value totalVariation(T &b) {
  Value x = getFloatImages(b), total;
  for (int64_t axis : {1, 2}) {
    const int64_t rest = x ? b.shapeOf(x)[axis] - 1 : 0;
    if (rest < 1)
      return x ? b.error("takes images of two rows and columns or more") : Value();
    Value difference = b.make<SubtractOp>(b.make<SliceOp>(x, axis, int64_t(1), rest),
                                          b.make<SliceOp>(x, axis, int64_t(0), rest));
    Value sum =
        b.call("Sum", {{"x", b.make<AbsOp>(difference)}, {"axis", llvm::json::Array{1, 2, 3}}});
    total = total ? b.make<AddOp>(total, sum) : sum;
  }
  return total;
}

constexpr TensorFlowFunction kTensorFlowImages[] = {
    {"image.rgb_to_grayscale", "images", imageUnary, "RGBToGrayscale"},
    {"image.rgb_to_hsv", "images", imageUnary, "RGBToHSV"},
    {"image.hsv_to_rgb", "images", imageUnary, "HSVToRGB"},
    {"image.sobel_edges", "image", imageUnary, "SobelEdges"},
    {"image.grayscale_to_rgb", "images", toRgb},
    {"image.flip_left_right", "image", flip<2>},
    {"image.flip_up_down", "image", flip<1>},
    {"image.rot90", "image k", rotate},
    {"image.transpose|image.transpose_image", "image", transposeImages},
    {"image.per_image_standardization", "image", standardize},
    {"image.crop_to_bounding_box", "image offset_height offset_width target_height target_width",
     boundingBox<cut>},
    {"image.pad_to_bounding_box", "image offset_height offset_width target_height target_width",
     boundingBox<surround>},
    {"image.resize_with_crop_or_pad|image.resize_image_with_crop_or_pad",
     "image target_height target_width", cropOrPad},
    {"image.central_crop", "image central_fraction", centralCrop},
    {"image.extract_patches|image.extract_image_patches",
     "images sizes|ksizes strides rates padding", extractPatches},
    {"image.adjust_brightness", "image delta", adjustBrightness},
    {"image.adjust_contrast", "images contrast_factor", adjustContrast},
    {"image.adjust_gamma", "image gamma gain", adjustGamma},
    {"image.adjust_saturation", "image saturation_factor", adjustHsv<1>},
    {"image.adjust_hue", "image delta", adjustHsv<0>},
    {"image.rgb_to_yuv", "images", convertColours<0>},
    {"image.yuv_to_rgb", "images", convertColours<1>},
    {"image.rgb_to_yiq", "images", convertColours<2>},
    {"image.yiq_to_rgb", "images", convertColours<3>},
    {"image.convert_image_dtype", "image dtype saturate", convertDtype},
    {"image.total_variation", "images", totalVariation},
};

} // namespace

llvm::ArrayRef<TensorFlowFunction> tensorFlowImages() { return kTensorFlowImages; }

} // namespace mpc::keras
