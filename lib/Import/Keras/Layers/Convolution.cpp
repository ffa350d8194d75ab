// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/convolutional: Conv, DepthwiseConv, SeparableConv and ConvTranspose in 1 to 3
// spatial dimensions. The ops are channels last; channels_first layers transpose on both sides.
#include "lib/Import/Keras/ActivationFunctions.h"
#include "lib/Import/Keras/LayerRegistry.h"
#include "lib/Import/Keras/Layers/ConvolutionSettings.h"
#include "lib/Import/Keras/Quantization/LowRank.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using Numbers = llvm::SmallVector<int64_t>;

using Settings = ConvolutionSettings;

Value addKernel(LayerBuilder &b, llvm::StringRef name, Numbers shape, llvm::StringRef prefix,
                const LowRank &lowRank = {}) {
  int64_t elements = 1;
  for (int64_t extent : shape)
    if (__builtin_mul_overflow(elements, extent, &elements))
      return b.error("the size of '" + name + "' overflows 64 bits");
  const std::string initializer = (prefix + "_initializer").str(),
                    regularizer = (prefix + "_regularizer").str(),
                    constraint = (prefix + "_constraint").str();
  VariableRequest request{name, shape, initializer, regularizer, constraint};
  request.frozen = bool(lowRank);
  request.merge = makeMerge(lowRank, nullptr);
  return b.addVariable(request);
}

Numbers kernelShape(const Settings &s, int64_t inputs, int64_t outputs) {
  Numbers shape(s.kernel);
  shape.append({inputs, outputs});
  return shape;
}

/// Nothing after an error; null for a layer without one.
std::optional<Value> addBias(LayerBuilder &b, int64_t filters) {
  if (!b.getFlag("use_bias", true))
    return Value();
  Value bias =
      b.addVariable({"bias", {filters}, "bias_initializer", "bias_regularizer", "bias_constraint"});
  return bias ? std::optional(bias) : std::nullopt;
}

/// Applies bias and activation and gives the layer's data format back. An activation may look at
/// the last axis, so others than the most common come after the transposition.
Value finish(LayerBuilder &b, const Settings &s, Value y, std::optional<Value> bias) {
  if (!bias)
    return {};
  if (*bias)
    y = b.make<AddOp>(y, *bias);
  const llvm::json::Value *activation = b.layer.config.get("activation");
  const bool isRelu = activation && activation->getAsString() == llvm::StringRef("relu");
  if (isRelu)
    y = applyConfiguredActivation(b, "activation", y);
  if (!y)
    return {};
  y = fromChannelsLast(b, s.format, y);
  return isRelu ? y : applyConfiguredActivation(b, "activation", y);
}

template <int64_t spatial> Value importConvolution(LayerBuilder &b) {
  Value x = getImages(b, spatial);
  auto s = ConvolutionSettings::read(b, spatial, /*stridesAndDilations=*/false);
  const int64_t filters = b.getInteger("filters", 0), groups = b.getInteger("groups", 1);
  if (filters < 1 || groups < 1 || filters % std::max<int64_t>(groups, 1) != 0)
    b.error("'filters' and 'groups' must be positive, and filters a multiple of groups");
  if (!x || !s || b.hasFailed())
    return {};
  x = toChannelsLast(b, s->format, x);
  const int64_t channels = b.shapeOf(x).back();
  if (channels % groups != 0)
    return b.error(llvm::Twine(channels) + " channels cannot be divided into " +
                   llvm::Twine(groups) + " groups");
  if (!s->setPadding(b, x, /*allowsCausal=*/spatial == 1))
    return {};
  const LowRank lowRank = readLowRank(b, "kernel_constraint", /*readsAlpha=*/true);
  const Numbers shape = kernelShape(*s, channels / groups, filters);
  Value kernel = addKernel(b, "kernel", shape, "kernel", lowRank);
  std::optional<Value> bias = addBias(b, filters);
  if (!kernel || !bias)
    return {};
  if (lowRank) { // keras/src/layers/convolutional/base_conv.py, kernel
    auto factors = addLowRankFactors(b, lowRank, "kernel", shape, "kernel_regularizer");
    if (!factors)
      return {};
    kernel = b.make<AddOp>(kernel, multiplyLowRank(b, lowRank, factors.a, factors.b));
  }
  return finish(b, *s, b.make<ConvolutionOp>(x, kernel, s->window(groups)), bias);
}

/// Each channel by itself with `depth_multiplier` filters; the kernel is (..., channels,
/// multiplier).
Value depthwise(LayerBuilder &b, Settings &s, Value x, llvm::StringRef name,
                bool allowsCausal = false) {
  const int64_t channels = b.shapeOf(x).back();
  const int64_t multiplier = b.getInteger("depth_multiplier", 1);
  int64_t filters;
  if (multiplier < 1 || __builtin_mul_overflow(channels, multiplier, &filters))
    return b.error("'depth_multiplier' must be a positive integer");
  if (!s.setPadding(b, x, allowsCausal))
    return {};
  Value kernel = addKernel(b, name, kernelShape(s, channels, multiplier), "depthwise");
  if (!kernel)
    return {};
  kernel = b.makeReshape(kernel, kernelShape(s, 1, filters));
  return b.make<ConvolutionOp>(x, kernel, s.window(channels));
}

template <int64_t spatial> Value importDepthwise(LayerBuilder &b) {
  Value x = getImages(b, spatial);
  auto s = ConvolutionSettings::read(b, spatial, /*stridesAndDilations=*/true);
  if (!x || !s)
    return {};
  Value y = depthwise(b, *s, toChannelsLast(b, s->format, x), "kernel");
  return y ? finish(b, *s, y, addBias(b, b.shapeOf(y).back())) : Value();
}

template <int64_t spatial> Value importSeparable(LayerBuilder &b) {
  Value x = getImages(b, spatial);
  auto s = ConvolutionSettings::read(b, spatial, /*stridesAndDilations=*/true);
  const int64_t filters = b.getInteger("filters", 0);
  if (filters < 1)
    b.error("'filters' must be a positive integer");
  if (!x || !s || b.hasFailed())
    return {};
  const bool allowsCausal = spatial == 1 && b.layer.version.isKeras2();
  Value y = depthwise(b, *s, toChannelsLast(b, s->format, x), "depthwise_kernel", allowsCausal);
  if (!y)
    return {};
  Numbers ones(spatial, 1), zeros(spatial, 0), shape(ones);
  shape.append({b.shapeOf(y).back(), filters});
  Value pointwise = addKernel(b, "pointwise_kernel", shape, "pointwise");
  if (!pointwise)
    return {};
  y = b.make<ConvolutionOp>(y, pointwise, ConvolutionWindow{ones, zeros, zeros, ones});
  return finish(b, *s, y, addBias(b, filters));
}

/// The adjoint of the convolution of the result; the kernel is (..., filters, channels).
template <int64_t spatial> Value importTranspose(LayerBuilder &b) {
  Value x = getImages(b, spatial);
  auto s = ConvolutionSettings::read(b, spatial, /*stridesAndDilations=*/false);
  const int64_t filters = b.getInteger("filters", 0);
  if (filters < 1)
    b.error("'filters' must be a positive integer");
  std::optional<Numbers> outputPadding;
  if (const auto *given = b.layer.config.get("output_padding");
      given && given->kind() != llvm::json::Value::Null)
    outputPadding = getNumbers(b, "output_padding", spatial, 0, /*least=*/0);
  if (!x || !s || b.hasFailed())
    return {};
  x = toChannelsLast(b, s->format, x);
  Numbers shape{b.shapeOf(x).front()};
  for (size_t d = 0; d < spatial; ++d) {
    std::optional<TransposedExtent> transposed = transposeExtent(
        b, b.shapeOf(x)[d + 1], {s->kernel[d], s->strides[d], s->dilations[d]}, s->padding,
        outputPadding ? std::optional((*outputPadding)[d]) : std::nullopt);
    if (!transposed)
      return {};
    shape.push_back(transposed->extent);
    s->low.push_back(transposed->low);
    s->high.push_back(transposed->high);
  }
  shape.push_back(filters);
  Value kernel = addKernel(b, "kernel", kernelShape(*s, filters, b.shapeOf(x).back()), "kernel");
  if (!kernel)
    return {};
  Value y = b.make<ConvolutionInputGradientOp>(mlir::RankedTensorType::get(shape, elementTypeOf(x)),
                                               x, kernel, s->window(1));
  return finish(b, *s, y, addBias(b, filters));
}

constexpr LayerEntry kConvolutionLayers[] = {
    {"Conv1D", importConvolution<1>},        {"Conv1DTranspose", importTranspose<1>},
    {"Conv2D", importConvolution<2>},        {"Conv2DTranspose", importTranspose<2>},
    {"Conv3D", importConvolution<3>},        {"Conv3DTranspose", importTranspose<3>},
    {"DepthwiseConv1D", importDepthwise<1>}, {"DepthwiseConv2D", importDepthwise<2>},
    {"SeparableConv1D", importSeparable<1>}, {"SeparableConv2D", importSeparable<2>},
};

} // namespace

llvm::ArrayRef<LayerEntry> convolutionLayers() { return kConvolutionLayers; }

} // namespace mpc::keras
