// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras.ops.nn over windows: pools, convolutions with kernels that are tensors or arrays, blocks of
// space as channels, patches as columns.
#include "lib/Import/Keras/Layers/Spatial.h"
#include "lib/Import/Keras/Operations/OperationBuilder.h"

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
        parseDataFormat(b, b.getString(kKeywordOnly, "data_format", "channels_last"));
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
  std::optional<Numbers> numbers = b.getIntegers(kKeywordOnly, name);
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
  std::optional<Numbers> strides = b.findArgument(kKeywordOnly, "strides")
                                       ? perDimension(b, "strides", batch->spatial, std::nullopt)
                                       : window;
  if (!strides)
    return {};
  Value y = makePool(b, kind, batch->x, *window, *strides,
                     llvm::StringRef(b.getString(kKeywordOnly, "padding", "valid")).lower());
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

/// The numbers that a ConvolutionWindow refers to.
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
  const std::string padding =
      llvm::StringRef(b.getString(kKeywordOnly, "padding", "valid")).lower();
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

/// The adjoint of a convolution; the kernel is (..., filters, channels). Keras 3.15.1 cannot call
/// its own operation (ConvTranspose.call exchanges 'padding' and 'output_padding'): this is what it
/// computes in keras.ops.conv_transpose of arrays.
Value convolveTransposed(B &b) {
  std::optional<Batch> batch = Batch::read(b, "inputs");
  Value kernel = batch ? getKernel(b, 1, "kernel", *batch) : Value();
  if (!kernel)
    return {};
  llvm::ArrayRef<int64_t> given = b.shapeOf(kernel);
  const int64_t filters = given[batch->spatial], channels = b.shapeOf(batch->x).back();
  if (given.back() != channels || filters < 1)
    return b.error("'ConvTranspose' of " + llvm::Twine(channels) + " channels with a kernel for " +
                   llvm::Twine(given.back()));
  std::optional<Numbers> strides = perDimension(b, "strides", batch->spatial, 1),
                         dilations = perDimension(b, "dilation_rate", batch->spatial, 1),
                         outputPadding = b.getIntegers(kKeywordOnly, "output_padding");
  if (!strides || !dilations || b.hasFailed())
    return {};
  if (outputPadding && outputPadding->size() == 1)
    outputPadding->assign(batch->spatial, outputPadding->front());
  if (outputPadding && (int64_t(outputPadding->size()) != batch->spatial ||
                        llvm::any_of(*outputPadding, [](int64_t n) { return n < 0; })))
    return b.error("'output_padding' of 'ConvTranspose' must be " + llvm::Twine(batch->spatial) +
                   " integers, none negative");
  const std::string padding =
      llvm::StringRef(b.getString(kKeywordOnly, "padding", "valid")).lower();
  Numbers shape{b.shapeOf(batch->x).front()}, low, high;
  for (int64_t d = 0; d < batch->spatial; ++d) {
    if (given[d] < 1)
      return b.error("'kernel' of 'ConvTranspose' has no elements");
    std::optional<TransposedExtent> transposed =
        transposeExtent(b, b.shapeOf(batch->x)[d + 1], {given[d], (*strides)[d], (*dilations)[d]},
                        padding, outputPadding ? std::optional((*outputPadding)[d]) : std::nullopt);
    if (!transposed)
      return {};
    shape.push_back(transposed->extent);
    low.push_back(transposed->low);
    high.push_back(transposed->high);
  }
  shape.push_back(filters);
  return batch->restore(b,
                        b.make<ConvolutionInputGradientOp>(
                            mlir::RankedTensorType::get(shape, elementTypeOf(batch->x)), batch->x,
                            kernel, ConvolutionWindow{*strides, low, high, *dilations}));
}

// ---- Patches as columns -------------------------------------------------------------------------

/// Where a kernel lies along height and width of images.
struct Patches {
  Numbers kernel, dilation, padding, stride;

  static std::optional<Patches> read(B &b) {
    Patches patches;
    auto take = [&](Numbers &to, llvm::StringRef name, std::optional<int64_t> otherwise,
                    int64_t least) {
      std::optional<Numbers> numbers = b.getIntegers(kKeywordOnly, name);
      if (!numbers && otherwise)
        numbers = Numbers(2, *otherwise);
      if (numbers && numbers->size() == 1)
        numbers->push_back(numbers->front());
      if (!numbers || numbers->size() != 2 ||
          llvm::any_of(*numbers, [&](int64_t n) { return n < least || n > kMostSpatial; }))
        b.error("'" + name + "' of '" + b.layer.className + "' must be one or two integers, " +
                llvm::Twine(least) + " or more");
      else
        to = *numbers;
    };
    take(patches.kernel, "kernel_size", std::nullopt, 1);
    take(patches.dilation, "dilation", 1, 1);
    take(patches.padding, "padding", 0, 0);
    take(patches.stride, "stride", 1, 1);
    return b.hasFailed() ? std::nullopt : std::optional(patches);
  }

  /// Which elements of an axis of `extent` elements the kernel's places read, one place of the
  /// kernel after the other; nothing after an error.
  std::optional<ResampleTable> along(B &b, int64_t d, int64_t extent) const {
    const int64_t count =
        (kernel[d] - 1) > kMostSpatial / dilation[d]
            ? 0
            : convolvedExtent(extent, kernel[d], stride[d], padding[d], padding[d], dilation[d]);
    constexpr int64_t kMostPlaces = int64_t(1) << 24;
    if (count < 1 || count > kMostPlaces / kernel[d]) {
      b.error("'" + b.layer.className + "' of a kernel of " + llvm::Twine(kernel[d]) +
              " elements over " + llvm::Twine(extent) + " is not supported");
      return std::nullopt;
    }
    ResampleTable table;
    table.axis = d + 2;
    for (int64_t k = 0; k < kernel[d]; ++k)
      for (int64_t place = 0; place < count; ++place) {
        const int64_t from = place * stride[d] - padding[d] + k * dilation[d];
        table.indices.push_back(from >= 0 && from < extent ? from : -1);
      }
    return table;
  }
};

/// Images (batch, channels, height, width) to (batch, channels and kernel, patches).
Value unfold(B &b) {
  Value x = b.getValue(0, "x");
  std::optional<Patches> patches = x ? Patches::read(b) : std::nullopt;
  if (!patches)
    return {};
  if (b.rankOf(x) != 4)
    return b.error("'Unfold' takes images (batch, channels, height, width)");
  llvm::SmallVector<ResampleTable> tables;
  for (int64_t d : {0, 1}) {
    std::optional<ResampleTable> table = patches->along(b, d, b.shapeOf(x)[d + 2]);
    if (!table)
      return {};
    tables.push_back(*table);
  }
  const int64_t batch = b.shapeOf(x)[0], channels = b.shapeOf(x)[1], rows = patches->kernel[0],
                columns = patches->kernel[1], down = tables[0].outputs() / rows,
                across = tables[1].outputs() / columns;
  x = b.make<ResampleOp>(x, llvm::ArrayRef<ResampleTable>(tables));
  x = b.makeReshape(x, {batch, channels, rows, down, columns, across});
  x = b.make<TransposeOp>(x, llvm::ArrayRef<int64_t>{0, 1, 2, 4, 3, 5});
  return b.makeReshape(x, {batch, channels * rows * columns, down * across});
}

/// The adjoint: patches are added where they overlap.
Value fold(B &b) {
  Operand operand = b.getOperand(0, "x");
  std::optional<Patches> patches = operand ? Patches::read(b) : std::nullopt;
  std::optional<Numbers> size = patches ? b.getIntegers(kKeywordOnly, "output_size") : std::nullopt;
  if (!patches || b.hasFailed())
    return {};
  if (!operand.isFloat())
    return b.error("'Fold' of integers is not supported; cast them first");
  Value x = operand.value;
  if (size && size->size() == 1)
    size->push_back(size->front());
  if (!size || size->size() != 2 ||
      llvm::any_of(*size, [](int64_t n) { return n < 1 || n > kMostSpatial; }))
    return b.error("'output_size' of 'Fold' must be one or two positive integers");
  llvm::SmallVector<ResampleTable> tables;
  for (int64_t d : {0, 1}) {
    std::optional<ResampleTable> table = patches->along(b, d, (*size)[d]);
    if (!table)
      return {};
    tables.push_back(*table);
  }
  const int64_t rows = patches->kernel[0], columns = patches->kernel[1],
                down = tables[0].outputs() / rows, across = tables[1].outputs() / columns;
  const int64_t inner = b.rankOf(x) == 3 ? b.shapeOf(x)[1] : 0;
  if (inner < 1 || inner % rows || (inner / rows) % columns || b.shapeOf(x)[2] % across ||
      b.shapeOf(x)[2] / across != down)
    return b.error("'Fold' takes (batch, channels times " + llvm::Twine(rows) + " times " +
                   llvm::Twine(columns) + ", " + llvm::Twine(down) + " times " +
                   llvm::Twine(across) + ")");
  const int64_t batch = b.shapeOf(x)[0], channels = inner / rows / columns;
  x = b.makeReshape(x, {batch, channels, rows, columns, down, across});
  x = b.make<TransposeOp>(x, llvm::ArrayRef<int64_t>{0, 1, 2, 4, 3, 5});
  x = b.makeReshape(x, {batch, channels, rows * down, columns * across});
  const ResampleTable adjoint[2] = {tables[0].transposed((*size)[0]),
                                    tables[1].transposed((*size)[1])};
  return b.make<ResampleOp>(x, llvm::ArrayRef<ResampleTable>(adjoint));
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
    {"ConvTranspose", convolveTransposed},
    {"DepthToSpace", moveBlocks<false>},
    {"DepthwiseConv", depthwise},
    {"ExtractSequences", extractSequences},
    {"Fold", fold},
    {"MaxPool", pool<ReduceKind::Max>},
    {"SeparableConv", separable},
    {"SpaceToDepth", moveBlocks<true>},
    {"Unfold", unfold},
};

} // namespace

llvm::ArrayRef<OperationEntry> windowOperations() { return kWindowOperations; }

} // namespace mpc::keras
