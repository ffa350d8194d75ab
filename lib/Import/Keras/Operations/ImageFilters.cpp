// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras.ops.image: filters of constant weights, and the similarity that is measured with one.
#include "lib/Import/Keras/Operations/Images.h"

#include <cmath>

namespace mpc::keras {
namespace {

using mlir::Value;
using B = OperationBuilder;
using Numbers = llvm::SmallVector<double>;

constexpr int64_t kMostTaps = 1024;

/// Weights e^(-x^2 / 2 s^2) about the middle of `size` places, divided by their sum.
Numbers makeBell(int64_t size, double deviation) {
  Numbers bell;
  double sum = 0;
  for (int64_t place = 0; place < size; ++place) {
    const double distance = (double(place) - double(size - 1) / 2) / deviation;
    bell.push_back(std::exp(-0.5 * distance * distance));
    sum += bell.back();
  }
  for (double &weight : bell)
    weight /= sum;
  return bell;
}

/// Each channel of images, channels last, times a kernel [rows, columns] of one or more results;
/// null after an error.
Value filter(B &b, Value x, llvm::ArrayRef<int64_t> size, llvm::ArrayRef<Numbers> kernels,
             llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high) {
  const int64_t channels = b.shapeOf(x)[3], results = int64_t(kernels.size());
  constexpr int64_t kMostWeights = int64_t(1) << 24;
  if (channels > kMostWeights / (size[0] * size[1] * results))
    return b.error("'" + b.layer.className + "' needs too large a kernel for " +
                   llvm::Twine(channels) + " channels");
  Numbers weights;
  for (size_t place = 0; place < kernels.front().size(); ++place)
    for (int64_t channel = 0; channel < channels; ++channel)
      for (const Numbers &kernel : kernels)
        weights.push_back(kernel[place]);
  Value kernel = b.makeConstant({size[0], size[1], 1, channels * results}, weights);
  return b.make<ConvolutionOp>(x, kernel, ConvolutionWindow{{1, 1}, low, high, {1, 1}, channels});
}

/// Two numbers of the config, or one for both; nothing after an error.
std::optional<Numbers> getPair(B &b, llvm::StringRef name, double otherwise) {
  const Argument *argument = b.findArgument(kKeywordOnly, name);
  if (!argument)
    return Numbers(2, otherwise);
  Numbers numbers;
  auto take = [&](const Argument &item) {
    std::optional<double> number =
        item.kind == Argument::Kind::Constant ? item.constant.getAsNumber() : std::nullopt;
    if (number)
      numbers.push_back(*number);
    return bool(number);
  };
  if (argument->kind == Argument::Kind::List && argument->items.size() == 2 &&
      llvm::all_of(argument->items, take))
    return numbers;
  b.error("'" + name + "' of '" + b.layer.className + "' must be two numbers");
  return std::nullopt;
}

/// Keras makes a kernel [second, first] and reads it as [first, second].
Value blur(B &b) {
  if (b.refuseFloat64(0, "images", "weights are in float32"))
    return {};
  std::optional<Images> images = Images::readFloats(b);
  std::optional<Numbers> size = getPair(b, "kernel_size", 3), sigma = getPair(b, "sigma", 1);
  if (!images || !size || !sigma)
    return {};
  int64_t extents[2], low[2], high[2];
  for (int64_t d : {0, 1}) {
    if (!((*size)[d] >= 1 && (*size)[d] <= double(kMostTaps)) ||
        (*size)[d] != std::floor((*size)[d]) || !((*sigma)[d] > 0))
      return b.error("'GaussianBlur' needs a 'kernel_size' of two integers in [1, " +
                     llvm::Twine(kMostTaps) + "] and a positive 'sigma'");
    extents[d] = int64_t((*size)[d]);
    std::tie(low[d], high[d]) = samePadding(images->extent(d + 1), extents[d], 1);
  }
  const Numbers first = makeBell(extents[0], (*sigma)[0]),
                second = makeBell(extents[1], (*sigma)[1]);
  Numbers kernel;
  for (double row : second)
    for (double column : first)
      kernel.push_back(row * column);
  Value y = filter(b, images->x, extents, kernel, low, high);
  return y ? images->restore(b, y) : y;
}

/// Differences along height and width, as a new last axis, of images that are mirrored at the edge.
Value findEdges(B &b) {
  std::optional<Images> images = Images::readFloats(b);
  if (!images)
    return {};
  llvm::SmallVector<ResampleTable> mirrored(2);
  for (int64_t d : {0, 1}) {
    const int64_t extent = images->extent(d + 1);
    if (extent < 2)
      return b.error("'SobelEdges' takes images of at least 2 by 2 places");
    mirrored[d].axis = d + 1;
    mirrored[d].indices.push_back(1);
    for (int64_t place = 0; place < extent; ++place)
      mirrored[d].indices.push_back(place);
    mirrored[d].indices.push_back(extent - 2);
  }
  Value x = b.make<ResampleOp>(images->x, llvm::ArrayRef<ResampleTable>(mirrored));
  const Numbers kernels[2] = {{-1, -2, -1, 0, 0, 0, 1, 2, 1}, {-1, 0, 1, -2, 0, 2, -1, 0, 1}};
  Value y = filter(b, x, {3, 3}, kernels, {0, 0}, {0, 0});
  if (!y)
    return y;
  llvm::SmallVector<int64_t> shape(b.shapeOf(images->x));
  shape.push_back(2);
  y = b.makeReshape(y, shape);
  return images->format == DataFormat::ChannelsLast
             ? y
             : b.make<TransposeOp>(y, llvm::ArrayRef<int64_t>{0, 3, 1, 2, 4});
}

/// Means, variances and the covariance under a window, compared (Wang et al. 2004); one number for
/// each sample. In float32 or wider: variances are differences of means.
Value similarity(B &b) {
  if (b.refuseFloat64(0, "image1", "weights are in float32"))
    return {};
  std::optional<Images> first = Images::readFloats(b, "image1"),
                        second = Images::readFloats(b, "image2", 1);
  const double most = b.getNumber(kKeywordOnly, "max_val").value_or(1.0),
               sigma = b.getNumber(kKeywordOnly, "filter_sigma").value_or(1.5),
               k1 = b.getNumber(kKeywordOnly, "k1").value_or(0.01),
               k2 = b.getNumber(kKeywordOnly, "k2").value_or(0.03);
  const int64_t size = b.getInteger(kKeywordOnly, "filter_size").value_or(11);
  if (!first || !second || b.hasFailed())
    return {};
  if (b.shapeOf(first->x) != b.shapeOf(second->x))
    return b.error("'SSIM' takes two batches of images of one shape");
  if (size < 1 || size > kMostTaps || size > first->extent(1) || size > first->extent(2) ||
      !(sigma > 0))
    return b.error("'SSIM' needs a 'filter_size' that fits into the images and a positive "
                   "'filter_sigma'");
  const Numbers bell = makeBell(size, sigma);
  // The window is a product: along the height, then along the width.
  auto mean = [&](Value x) {
    x = filter(b, x, {size, 1}, bell, {0, 0}, {0, 0});
    return x ? filter(b, x, {1, size}, bell, {0, 0}, {0, 0}) : x;
  };
  auto times = [&](Value x, Value y) { return b.make<MultiplyOp>(x, y); };
  auto add = [&](Value x, double y) { return b.make<AddOp>(x, b.makeConstant(y)); };
  auto twice = [&](Value x) { return b.make<AddOp>(x, x); };
  Value x = b.makeCastLike(first->x, first->x, /*wide=*/true),
        y = b.makeCastLike(second->x, first->x, /*wide=*/true);
  Value xMean = mean(x), yMean = mean(y);
  if (!xMean || !yMean)
    return {};
  Value xSquare = times(xMean, xMean), ySquare = times(yMean, yMean), cross = times(xMean, yMean);
  Value xVariance = b.make<SubtractOp>(mean(times(x, x)), xSquare),
        yVariance = b.make<SubtractOp>(mean(times(y, y)), ySquare),
        covariance = b.make<SubtractOp>(mean(times(x, y)), cross);
  const double c1 = k1 * most * k1 * most, c2 = k2 * most * k2 * most;
  Value numerator = times(add(twice(cross), c1), add(twice(covariance), c2));
  Value denominator =
      times(add(b.make<AddOp>(xSquare, ySquare), c1), add(b.make<AddOp>(xVariance, yVariance), c2));
  Value map = b.make<DivideOp>(numerator, denominator);
  return b.makeCastLike(b.makeReduce(ReduceKind::Mean, map, {1, 2, 3}, /*keepDims=*/false),
                        first->x);
}

constexpr OperationEntry kImageFilters[] = {
    {"GaussianBlur", blur},
    {"SSIM", similarity},
    {"SobelEdges", findEdges},
};

} // namespace

llvm::ArrayRef<OperationEntry> imageFilters() { return kImageFilters; }

} // namespace mpc::keras
