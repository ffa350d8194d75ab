// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// TensorFlow's functions over windows: convolutions with kernels that are tensors or constants, and
// pools.
#include "lib/Import/Keras/Legacy/TensorFlowBuilder.h"

#include "lib/Import/Keras/Layers/Spatial.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using T = TensorFlowBuilder;

/// A batch with spatial dimensions, and how its dimensions lie.
struct SpatialBatch {
  Value x;
  int64_t spatial = 0;
  bool channelsFirst = false;

  static std::optional<SpatialBatch> read(T &b, llvm::StringRef name) {
    SpatialBatch batch;
    batch.x = b.getFloat(name);
    const std::string format = b.getString("data_format", "");
    if (!batch.x)
      return std::nullopt;
    batch.spatial = b.rankOf(batch.x) - 2;
    batch.channelsFirst = llvm::StringRef(format).starts_with("NC") || format == "channels_first";
    if (batch.spatial < 1 || batch.spatial > 3) {
      b.error("takes a batch with 1 to 3 spatial dimensions");
      return std::nullopt;
    }
    if (!format.empty() && !batch.channelsFirst && format != "channels_last" &&
        !(llvm::StringRef(format).starts_with("N") && llvm::StringRef(format).ends_with("C"))) {
      b.error("'data_format' is '" + format + "'; expected N...C or NC...");
      return std::nullopt;
    }
    return batch;
  }
  llvm::StringRef format() const { return channelsFirst ? "channels_first" : "channels_last"; }
  int64_t axisOf(int64_t d) const { return channelsFirst ? d + 2 : d + 1; }
  int64_t channels(T &b) const { return b.shapeOf(x)[channelsFirst ? 1 : spatial + 1]; }
};

/// One number, one for each spatial dimension, or one for each dimension with 1 for the batch and
/// the channels; nothing after an error.
std::optional<llvm::SmallVector<int64_t>> readSpatial(T &b, llvm::StringRef name,
                                                      const SpatialBatch &batch) {
  std::optional<llvm::SmallVector<int64_t>> numbers = b.getIntegers(name);
  if (b.hasFailed())
    return std::nullopt;
  if (!numbers)
    return llvm::SmallVector<int64_t>(batch.spatial, 1);
  if (numbers->size() == 1)
    numbers->assign(batch.spatial, numbers->front());
  if (int64_t(numbers->size()) == batch.spatial + 2) {
    const int64_t channel = (*numbers)[batch.channelsFirst ? 1 : batch.spatial + 1];
    if (numbers->front() != 1 || channel != 1) {
      b.error("'" + name + "' over the batch or the channels is not supported");
      return std::nullopt;
    }
    numbers =
        llvm::to_vector(llvm::ArrayRef(*numbers).slice(batch.channelsFirst ? 2 : 1, batch.spatial));
  }
  if (int64_t(numbers->size()) == batch.spatial &&
      llvm::all_of(*numbers, [](int64_t n) { return n >= 1 && n <= kMostSpatial; }))
    return numbers;
  b.error("'" + name + "' must be " + llvm::Twine(batch.spatial) + " positive integers");
  return std::nullopt;
}

/// "same" or "valid"; explicit numbers are padded with zeros here. Nothing after an error.
std::optional<std::string> readPadding(T &b, SpatialBatch &batch) {
  const Argument *padding = b.find("padding");
  if (!padding) // a default of tf.nn.convolution, keras.backend.conv2d
    return "valid";
  if (padding->kind != Argument::Kind::List) {
    const std::string text = llvm::StringRef(b.getString("padding", "VALID")).lower();
    if (text == "same" || text == "valid" || (text == "causal" && batch.spatial == 1))
      return text;
    b.error("'padding' is '" + text + "'; expected SAME, VALID or numbers");
    return std::nullopt;
  }
  for (int64_t axis = 0; axis < int64_t(padding->items.size()); ++axis) {
    std::optional<SymbolicIntegers> pair = b.toSymbolic(padding->items[axis]);
    std::optional<llvm::SmallVector<int64_t>> both = pair ? pair->getConstants() : std::nullopt;
    if (!both || both->size() != 2 || axis >= b.rankOf(batch.x) ||
        llvm::any_of(*both, [](int64_t n) { return n < 0 || n > 65536; })) {
      b.error("'padding' must hold two numbers for each dimension");
      return std::nullopt;
    }
    if ((*both)[0] == 0 && (*both)[1] == 0)
      continue;
    if (axis == 0) {
      b.error("'padding' of the batch is not supported");
      return std::nullopt;
    }
    batch.x = b.make<PadOp>(batch.x, axis, (*both)[0], (*both)[1], llvm::APFloat(0.0));
  }
  return "valid";
}

/// The arguments that all convolutions share.
struct Settings {
  SpatialBatch batch;
  llvm::SmallVector<int64_t> strides, dilations;
  std::string padding;

  static std::optional<Settings> read(T &b) {
    std::optional<SpatialBatch> batch = SpatialBatch::read(b, "input");
    if (!batch)
      return std::nullopt;
    auto strides = readSpatial(b, "strides", *batch),
         dilations = readSpatial(b, "dilations", *batch);
    std::optional<std::string> padding =
        strides && dilations ? readPadding(b, *batch) : std::nullopt;
    return padding ? std::optional(Settings{*batch, *strides, *dilations, *padding}) : std::nullopt;
  }
  Value convolve(T &b, llvm::StringRef operation, llvm::StringRef keyword, Value kernel) const {
    return b.call(operation, {{"inputs", batch.x},
                              {keyword, kernel},
                              {"strides", llvm::ArrayRef<int64_t>(strides)},
                              {"padding", padding},
                              {"data_format", batch.format().str()},
                              {"dilation_rate", llvm::ArrayRef<int64_t>(dilations)}});
  }
};

Value convolve(T &b) {
  std::optional<Settings> settings = Settings::read(b);
  Value kernel = settings ? b.getTensor("filters", settings->batch.x) : Value();
  return kernel ? settings->convolve(b, b.function.operation, "kernel", kernel) : Value();
}

Value separable(T &b) {
  std::optional<Settings> settings = Settings::read(b);
  Value depthwise = settings ? b.getTensor("depthwise_filter", settings->batch.x) : Value(),
        pointwise = depthwise ? b.getTensor("pointwise_filter", settings->batch.x) : Value();
  if (!pointwise)
    return {};
  Value y = settings->convolve(b, "DepthwiseConv", "kernel", depthwise);
  return y ? b.call("Conv", {{"inputs", y},
                             {"kernel", pointwise},
                             {"padding", "valid"},
                             {"data_format", settings->batch.format().str()}})
           : Value();
}

/// The adjoint of the convolution that takes `output_shape` to the input.
Value convolveTransposed(T &b) {
  std::optional<Settings> settings = Settings::read(b);
  Value kernel = settings ? b.getTensor("filters", settings->batch.x) : Value();
  std::optional<SymbolicIntegers> shape = kernel ? b.findSymbolic("output_shape") : std::nullopt;
  if (!shape)
    return kernel ? b.error("'output_shape' must be known, but for the batch") : Value();
  const SpatialBatch &batch = settings->batch;
  const int64_t spatial = batch.spatial;
  llvm::SmallVector<Extent, 4> extents = shape->elements;
  if (int64_t(extents.size()) == spatial + 2) {
    if (batch.channelsFirst)
      extents.erase(extents.begin(), extents.begin() + 2);
    else
      extents = llvm::SmallVector<Extent, 4>(extents.begin() + 1, extents.end() - 1);
  }
  const DataFormat format =
      batch.channelsFirst ? DataFormat::ChannelsFirst : DataFormat::ChannelsLast;
  Value x = toChannelsLast(b, format, batch.x);
  if (b.rankOf(kernel) != spatial + 2 || int64_t(extents.size()) != spatial ||
      b.shapeOf(kernel).back() != b.shapeOf(x).back())
    return b.error("has a kernel or an 'output_shape' of other dimensions");
  llvm::SmallVector<int64_t> result{b.shapeOf(x).front()}, low, high;
  for (int64_t d = 0; d < spatial; ++d) {
    const int64_t reach = (b.shapeOf(kernel)[d] - 1) * settings->dilations[d] + 1;
    const int64_t extent = extents[d].constant, stride = settings->strides[d];
    std::pair<int64_t, int64_t> padding{0, 0};
    if (!extents[d].isConstant() || extent < 1 || extent > kMostSpatial)
      return b.error("'output_shape' must be known, but for the batch");
    if (settings->padding == "same")
      padding = samePadding(extent, reach, stride);
    if (convolvedExtent(extent, b.shapeOf(kernel)[d], stride, padding.first, padding.second,
                        settings->dilations[d]) != b.shapeOf(x)[d + 1])
      return b.error("'output_shape' is none that the convolution takes back to the input");
    result.push_back(extent);
    low.push_back(padding.first);
    high.push_back(padding.second);
  }
  result.push_back(b.shapeOf(kernel)[spatial]);
  Value y = b.make<ConvolutionInputGradientOp>(
      mlir::RankedTensorType::get(result, elementTypeOf(x)), x, kernel,
      ConvolutionWindow{settings->strides, low, high, settings->dilations});
  return fromChannelsLast(b, format, y);
}

Value pool(T &b) {
  std::optional<SpatialBatch> batch = SpatialBatch::read(b, "input");
  auto window = batch ? readSpatial(b, "ksize", *batch) : std::nullopt,
       strides = window ? readSpatial(b, "strides", *batch) : std::nullopt;
  const Argument *padding = strides ? b.find("padding") : nullptr;
  if (!strides || !padding || padding->kind == Argument::Kind::List)
    return strides ? b.error("'padding' must be SAME or VALID") : Value();
  return b.call(b.function.operation,
                {{"inputs", batch->x},
                 {"pool_size", llvm::ArrayRef<int64_t>(*window)},
                 {"strides", llvm::ArrayRef<int64_t>(*strides)},
                 {"padding", llvm::StringRef(b.getString("padding", "VALID")).lower()},
                 {"data_format", batch->format().str()}});
}

template <bool toSpace> Value blocks(T &b) {
  Value x = b.getTensor("input");
  if (!x)
    return {};
  const std::string format = b.getString("data_format", "NHWC");
  if (format != "NHWC" && format != "NCHW")
    return b.error("'data_format' is '" + format + "'; expected NHWC or NCHW");
  return b.call(toSpace ? "DepthToSpace" : "SpaceToDepth",
                {{"x", x},
                 {"block_size", b.getInteger("block_size", 0)},
                 {"data_format", format == "NCHW" ? "channels_first" : "channels_last"}});
}

constexpr TensorFlowFunction kTensorFlowWindows[] = {
    {"nn.conv1d",
     "input|value filters strides|stride padding data_format dilations use_cudnn_on_gpu", convolve,
     "Conv"},
    {"nn.conv2d", "input filters|filter strides padding data_format dilations use_cudnn_on_gpu",
     convolve, "Conv"},
    {"nn.conv3d", "input filters|filter strides padding data_format dilations", convolve, "Conv"},
    {"nn.convolution", "input filters|filter strides padding data_format dilations|dilation_rate",
     convolve, "Conv"},
    {"compat.v1.nn.convolution",
     "input filters|filter padding strides dilations|dilation_rate data_format", convolve, "Conv"},
    {"nn.depthwise_conv2d",
     "input filters|filter strides padding data_format dilations|rate|dilation", convolve,
     "DepthwiseConv"},
    {"compat.v1.nn.depthwise_conv2d",
     "input filters|filter strides padding dilations|rate data_format", convolve, "DepthwiseConv"},
    {"nn.separable_conv2d",
     "input depthwise_filter pointwise_filter strides padding data_format dilations|rate",
     separable},
    {"nn.conv1d_transpose|nn.conv2d_transpose|nn.conv3d_transpose",
     "input|value filters|filter output_shape strides padding data_format dilations",
     convolveTransposed},
    {"nn.max_pool|nn.max_pool1d|nn.max_pool2d|nn.max_pool3d",
     "input|value ksize strides padding data_format", pool, "MaxPool"},
    {"nn.avg_pool|nn.avg_pool1d|nn.avg_pool2d|nn.avg_pool3d",
     "input|value ksize strides padding data_format", pool, "AveragePool"},
    {"nn.depth_to_space|depth_to_space", "input block_size data_format", blocks<true>},
    {"nn.space_to_depth|space_to_depth", "input block_size data_format", blocks<false>},
};

} // namespace

llvm::ArrayRef<TensorFlowFunction> tensorFlowWindows() { return kTensorFlowWindows; }

} // namespace mpc::keras
