// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras.ops.nn over windows: pools, convolutions with kernels that are tensors or arrays, blocks of
// space as channels.
#include "../Layers/Spatial.h"
#include "OperationBuilder.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using B = OperationBuilder;
using Numbers = llvm::SmallVector<int64_t>;

/// A floating batch with `spatial` dimensions, channels last, and how it came.
struct Batch {
  Value x;
  DataFormat format = DataFormat::ChannelsLast;
  int64_t spatial = 0;

  static std::optional<Batch> read(B &b, llvm::StringRef name) {
    Batch batch;
    batch.x = b.getFloat(0, name);
    std::optional<DataFormat> format =
        parseDataFormat(b, b.getString(UINT_MAX, "data_format", "channels_last"));
    if (!batch.x || !format)
      return std::nullopt;
    batch.format = *format;
    batch.spatial = b.rankOf(batch.x) - 2;
    if (batch.spatial < 1 || batch.spatial > 3 ||
        llvm::any_of(b.shapeOf(batch.x).drop_front(),
                     [](int64_t extent) { return extent < 1 || extent > kMostSpatial; })) {
      b.error("'" + b.layer.className + "' takes a batch with 1 to 3 spatial dimensions");
      return std::nullopt;
    }
    batch.x = toChannelsLast(b, batch.format, batch.x);
    return batch;
  }
  Value restore(B &b, Value y) const { return fromChannelsLast(b, format, y); }
};

/// One positive integer for each spatial dimension; nothing after an error.
std::optional<Numbers> perDimension(B &b, llvm::StringRef name, int64_t spatial,
                                    std::optional<int64_t> otherwise) {
  std::optional<Numbers> numbers = b.getIntegers(UINT_MAX, name);
  if (!numbers && otherwise && !b.hasFailed())
    return Numbers(spatial, *otherwise);
  if (numbers && numbers->size() == 1)
    numbers->assign(spatial, numbers->front());
  if (numbers && int64_t(numbers->size()) == spatial &&
      llvm::all_of(*numbers, [](int64_t n) { return n >= 1 && n <= kMostSpatial; }))
    return numbers;
  b.error("'" + name + "' of '" + b.layer.className + "' must be " + llvm::Twine(spatial) +
          " positive integers");
  return std::nullopt;
}

template <ReduceKind kind> Value pool(B &b) {
  std::optional<Batch> batch = Batch::read(b, "inputs");
  if (!batch)
    return {};
  std::optional<Numbers> window = perDimension(b, "pool_size", batch->spatial, std::nullopt);
  if (!window)
    return {};
  std::optional<Numbers> strides = b.findArgument(UINT_MAX, "strides")
                                       ? perDimension(b, "strides", batch->spatial, std::nullopt)
                                       : window;
  if (!strides)
    return {};
  Value y = makePool(b, kind, batch->x, *window, *strides,
                     llvm::StringRef(b.getString(UINT_MAX, "padding", "valid")).lower());
  return y ? batch->restore(b, y) : y;
}

template <ReduceKind kind> Value adaptivePool(B &b) {
  std::optional<Batch> batch = Batch::read(b, "inputs");
  std::optional<Numbers> places =
      batch ? perDimension(b, "output_size", batch->spatial, std::nullopt) : std::nullopt;
  if (!places)
    return {};
  Numbers shape(b.shapeOf(batch->x));
  llvm::copy(*places, shape.begin() + 1);
  for (int64_t d = 0; d < batch->spatial; ++d)
    if ((*places)[d] > kMostSpatial / b.shapeOf(batch->x)[d + 1])
      return b.error("'output_size' is too large");
  auto type = mlir::RankedTensorType::get(shape, elementTypeOf(batch->x));
  const llvm::ArrayRef<int64_t> none;
  return batch->restore(b, b.make<PoolOp>(type, kind, batch->x, none, none, none, none));
}

/// What a ConvolutionWindow refers to.
struct Window {
  Numbers strides, low, high, dilations;
  int64_t groups;

  operator ConvolutionWindow() const { return {strides, low, high, dilations, groups}; }
};

/// The window of a convolution with a kernel of these extents; nothing after an error.
std::optional<Window> readWindow(B &b, const Batch &batch, llvm::ArrayRef<int64_t> kernel,
                                 int64_t groups) {
  std::optional<Numbers> strides = perDimension(b, "strides", batch.spatial, 1),
                         dilations = perDimension(b, "dilation_rate", batch.spatial, 1);
  const std::string padding = llvm::StringRef(b.getString(UINT_MAX, "padding", "valid")).lower();
  if (!strides || !dilations)
    return std::nullopt;
  Numbers low, high;
  for (int64_t d = 0; d < batch.spatial; ++d) {
    const int64_t extent = b.shapeOf(batch.x)[d + 1];
    if (kernel[d] < 1 || kernel[d] - 1 > kMostSpatial / (*dilations)[d]) {
      b.error("the dilated kernel is too large");
      return std::nullopt;
    }
    const int64_t reach = (kernel[d] - 1) * (*dilations)[d] + 1;
    int64_t before = 0, after = 0;
    if (padding == "same")
      std::tie(before, after) = samePadding(extent, reach, (*strides)[d]);
    else if (padding == "causal" && batch.spatial == 1)
      before = reach - 1;
    else if (padding != "valid")
      b.error("'padding' of '" + b.layer.className + "' is '" + padding +
              "'; expected valid or same");
    if (convolvedExtent(extent, kernel[d], (*strides)[d], before, after, (*dilations)[d]) < 1)
      b.error("a kernel that reaches over " + llvm::Twine(reach) + " elements does not fit into " +
              llvm::Twine(extent));
    low.push_back(before);
    high.push_back(after);
  }
  if (b.hasFailed())
    return std::nullopt;
  return Window{*strides, low, high, *dilations, groups};
}

/// A kernel with `spatial` + 2 dimensions; null after an error.
Value getKernel(B &b, unsigned position, llvm::StringRef name, const Batch &batch) {
  Value kernel = b.getFloat(position, name);
  if (kernel && (b.rankOf(kernel) != batch.spatial + 2 || tensorTypeOf(kernel).getNumDynamicDims()))
    return b.error("'" + name + "' of '" + b.layer.className + "' must have " +
                   llvm::Twine(batch.spatial + 2) + " dimensions, none of them the batch");
  return kernel;
}

Value convolve(B &b) {
  std::optional<Batch> batch = Batch::read(b, "inputs");
  Value kernel = batch ? getKernel(b, 1, "kernel", *batch) : Value();
  if (!kernel)
    return {};
  const int64_t channels = b.shapeOf(batch->x).back();
  const int64_t inner = b.shapeOf(kernel)[batch->spatial], filters = b.shapeOf(kernel).back();
  if (inner < 1 || channels % inner != 0 || filters % (channels / inner) != 0)
    return b.error("'Conv' of " + llvm::Twine(channels) + " channels with a kernel for " +
                   llvm::Twine(inner));
  std::optional<Window> window = readWindow(b, *batch, b.shapeOf(kernel), channels / inner);
  return window ? batch->restore(
                      b, b.make<ConvolutionOp>(batch->x, kernel, ConvolutionWindow(*window)))
                : Value();
}

/// Each channel by itself; the kernel is (..., channels, multiplier).
Value convolveDepthwise(B &b, Batch &batch, unsigned position, llvm::StringRef name) {
  Value kernel = getKernel(b, position, name, batch);
  if (!kernel)
    return {};
  const int64_t channels = b.shapeOf(batch.x).back();
  Numbers shape(b.shapeOf(kernel));
  if (shape[batch.spatial] != channels)
    return b.error("'" + b.layer.className + "' of " + llvm::Twine(channels) +
                   " channels with a kernel for " + llvm::Twine(shape[batch.spatial]));
  shape.back() *= channels;
  shape[batch.spatial] = 1;
  std::optional<Window> window = readWindow(b, batch, shape, channels);
  return window ? b.make<ConvolutionOp>(batch.x, b.makeReshape(kernel, shape),
                                        ConvolutionWindow(*window))
                : Value();
}

Value depthwise(B &b) {
  std::optional<Batch> batch = Batch::read(b, "inputs");
  Value y = batch ? convolveDepthwise(b, *batch, 1, "kernel") : Value();
  return y ? batch->restore(b, y) : y;
}

Value separable(B &b) {
  std::optional<Batch> batch = Batch::read(b, "inputs");
  Value y = batch ? convolveDepthwise(b, *batch, 1, "depthwise_kernel") : Value();
  Value pointwise = y ? getKernel(b, 2, "pointwise_kernel", *batch) : Value();
  if (!pointwise)
    return {};
  Numbers ones(batch->spatial, 1), zeros(batch->spatial, 0);
  if (b.shapeOf(pointwise).take_front(batch->spatial) != llvm::ArrayRef(ones) ||
      b.shapeOf(pointwise)[batch->spatial] != b.shapeOf(y).back())
    return b.error("'pointwise_kernel' of 'SeparableConv' must be (1, ..., " +
                   llvm::Twine(b.shapeOf(y).back()) + ", filters)");
  return batch->restore(
      b, b.make<ConvolutionOp>(y, pointwise, ConvolutionWindow{ones, zeros, zeros, ones}));
}

/// Blocks of space become channels, or come from them (tf.nn.space_to_depth).
template <bool toDepth> Value moveBlocks(B &b) {
  Value x = b.getValue(0, "x");
  const int64_t size = b.getInteger(1, "block_size").value_or(0);
  std::optional<DataFormat> format =
      parseDataFormat(b, b.getString(2, "data_format", "channels_last"));
  if (!x || !format)
    return {};
  if (b.rankOf(x) != 4 || size < 1)
    return b.error("'" + b.layer.className +
                   "' takes a batch of images and a positive 'block_size'");
  x = toChannelsLast(b, *format, x);
  const int64_t batch = b.shapeOf(x)[0], height = b.shapeOf(x)[1], width = b.shapeOf(x)[2],
                channels = b.shapeOf(x)[3];
  if (toDepth ? height % size || width % size : channels % size || (channels / size) % size)
    return b.error("'" + b.layer.className + "' of images that blocks of " + llvm::Twine(size) +
                   " do not divide");
  if (toDepth) {
    x = b.makeReshape(x, {batch, height / size, size, width / size, size, channels});
    x = b.make<TransposeOp>(x, llvm::ArrayRef<int64_t>{0, 1, 3, 2, 4, 5});
    x = b.makeReshape(x, {batch, height / size, width / size, size * size * channels});
  } else {
    const int64_t rest = channels / size / size;
    x = b.makeReshape(x, {batch, height, width, size, size, rest});
    x = b.make<TransposeOp>(x, llvm::ArrayRef<int64_t>{0, 1, 3, 2, 4, 5});
    x = b.makeReshape(x, {batch, height * size, width * size, rest});
  }
  return fromChannelsLast(b, *format, x);
}

/// Overlapping pieces of the last axis.
Value extractSequences(B &b) {
  Value x = b.getValue(0, "x");
  std::optional<int64_t> length = b.getInteger(1, "sequence_length"),
                         stride = b.getInteger(2, "sequence_stride");
  if (!x || !length || !stride)
    return x ? b.error("'ExtractSequences' needs 'sequence_length' and 'sequence_stride'") : x;
  const int64_t axis = b.rankOf(x) - 1, extent = axis < 1 ? 0 : b.shapeOf(x)[axis];
  if (*length < 1 || *stride < 1 || *length > extent)
    return b.error("'ExtractSequences' of " + llvm::Twine(*length) + " of " + llvm::Twine(extent) +
                   " elements is not supported");
  const int64_t count = 1 + (extent - *length) / *stride;
  llvm::SmallVector<int64_t> places;
  for (int64_t piece = 0; piece < count; ++piece)
    for (int64_t place = 0; place < *length; ++place)
      places.push_back(piece * *stride + place);
  return b.make<GatherOp>(x, b.makeIndices({count, *length}, places), axis, int64_t(0));
}

constexpr OperationEntry kWindowOperations[] = {
    {"AdaptiveAveragePool", adaptivePool<ReduceKind::Mean>},
    {"AdaptiveMaxPool", adaptivePool<ReduceKind::Max>},
    {"AveragePool", pool<ReduceKind::Mean>},
    {"Conv", convolve},
    {"DepthToSpace", moveBlocks<false>},
    {"DepthwiseConv", depthwise},
    {"ExtractSequences", extractSequences},
    {"MaxPool", pool<ReduceKind::Max>},
    {"SeparableConv", separable},
    {"SpaceToDepth", moveBlocks<true>},
};

} // namespace

llvm::ArrayRef<OperationEntry> windowOperations() { return kWindowOperations; }

} // namespace mpc::keras
