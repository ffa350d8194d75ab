// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tf_keras/src/layers/locally_connected: LocallyConnected1D and 2D, convolutions with a kernel of
// its own at each place, whose variable has the shape that `implementation` says.
#include "lib/Import/Keras/ActivationFunctions.h"
#include "lib/Import/Keras/Layers/ConvolutionSettings.h"
#include "lib/Import/Keras/Legacy/Layers.h"

#include <numeric>

namespace mpc::keras {
namespace {

using mlir::Value;
using Numbers = llvm::SmallVector<int64_t>;

/// Masks are constants of the model.
constexpr int64_t kMostConnections = int64_t(1) << 22;
constexpr int64_t kMostOffsets = 4096;

std::optional<int64_t> product(llvm::ArrayRef<int64_t> extents) {
  int64_t result = 1;
  for (int64_t extent : extents)
    if (__builtin_mul_overflow(result, extent, &result))
      return std::nullopt;
  return result;
}

class LocalConvolution {
public:
  LocalConvolution(LayerBuilder &b, int64_t spatial) : b(b), spatial(spatial) {}
  Value run();

private:
  bool read();
  Value addKernel(llvm::ArrayRef<int64_t> shape);
  /// Every `stride`-th element from `offset` on, `count` of them.
  Value takeEvery(Value value, int64_t axis, int64_t offset, int64_t stride, int64_t count);
  /// [batch, places, features of the window], in the order in which Keras flattens a window.
  Value takeWindows();
  Value multiplyWindows();
  Value multiplyAll();
  Value makeConnections();
  /// Whether place `output` of the result sees place `input`, in dimension `d`.
  bool sees(int64_t d, int64_t input, int64_t output) const;
  Value multiplySparse();
  Value addBias(Value y);

  LayerBuilder &b;
  const int64_t spatial;
  std::optional<ConvolutionSettings> s;
  Value x; ///< as it is given
  int64_t filters = 0, channels = 0;
  Numbers extents, results; ///< of the spatial dimensions
};

bool LocalConvolution::read() {
  x = getImages(b, spatial);
  s = ConvolutionSettings::read(b, spatial, /*stridesAndDilations=*/false);
  filters = b.getInteger("filters", 0);
  if (filters < 1)
    b.error("'filters' must be positive");
  if (!x || !s || b.hasFailed())
    return false;
  channels = b.shapeOf(x)[s->format == DataFormat::ChannelsLast ? spatial + 1 : 1];
  for (int64_t d = 0; d < spatial; ++d)
    extents.push_back(b.shapeOf(x)[spatialAxis(s->format, d)]);
  if (!s->setPadding(b, extents, /*allowsCausal=*/false))
    return false;
  results = s->getResultExtents(extents);
  const std::optional<int64_t> window = product(s->kernel);
  if (!window || *window > kMostOffsets)
    return b.error("a window of more than " + llvm::Twine(kMostOffsets) + " elements"), false;
  return true;
}

Value LocalConvolution::addKernel(llvm::ArrayRef<int64_t> shape) {
  if (!product(shape))
    return b.error("the size of the kernel overflows 64 bits");
  return b.addVariable(
      {"kernel", Numbers(shape), "kernel_initializer", "kernel_regularizer", "kernel_constraint"});
}

Value LocalConvolution::takeEvery(Value value, int64_t axis, int64_t offset, int64_t stride,
                                  int64_t count) {
  if (stride == 1)
    return b.make<SliceOp>(value, axis, offset, count);
  const int64_t missing = offset + count * stride - b.shapeOf(value)[axis];
  if (missing > 0)
    value = b.make<PadOp>(value, axis, int64_t(0), missing, llvm::APFloat(0.0));
  value = b.make<SliceOp>(value, axis, offset, count * stride);
  Numbers shape(b.shapeOf(value));
  shape[axis] = count;
  Numbers split(shape);
  split.insert(split.begin() + axis + 1, stride);
  value = b.make<SliceOp>(b.makeReshape(value, split), axis + 1, int64_t(0), int64_t(1));
  return b.makeReshape(value, shape);
}

Value LocalConvolution::takeWindows() {
  Value images = toChannelsLast(b, s->format, x);
  const int64_t places = *product(results), window = *product(s->kernel);
  const bool isLast = s->format == DataFormat::ChannelsLast;
  llvm::SmallVector<Value> parts;
  for (int64_t number = 0; number < window; ++number) {
    Value part = images;
    for (int64_t d = spatial - 1, rest = number; d >= 0; --d) {
      part = takeEvery(part, d + 1, rest % s->kernel[d], s->strides[d], results[d]);
      rest /= s->kernel[d];
    }
    Numbers shape{b.shapeOf(x).front(), places, channels};
    shape.insert(isLast ? shape.begin() + 2 : shape.end(), 1);
    parts.push_back(b.makeReshape(part, shape));
  }
  Value windows = parts.size() == 1
                      ? parts.front()
                      : b.make<ConcatenateOp>(mlir::ValueRange(parts), int64_t(isLast ? 2 : 3));
  return b.makeReshape(windows, {b.shapeOf(x).front(), places, window * channels});
}

/// implementation=1: a matrix for each place.
Value LocalConvolution::multiplyWindows() {
  if (s->padding != "valid")
    return b.error("'padding' of " + b.layer.className + " with implementation=1 must be valid");
  const int64_t places = *product(results), features = *product(s->kernel) * channels;
  Value kernel = addKernel({places, features, filters});
  if (!kernel)
    return {};
  Value windows = takeWindows();
  windows = b.makeReshape(windows, {b.shapeOf(x).front(), places, features, 1});
  Value products =
      b.make<MultiplyOp>(windows, b.makeReshape(kernel, {1, places, features, filters}));
  Value y = b.make<ReduceOp>(ReduceKind::Sum, products, llvm::ArrayRef<int64_t>{2}, false);
  Numbers shape{b.shapeOf(x).front()};
  shape.append(results.begin(), results.end());
  shape.push_back(filters);
  return fromChannelsLast(b, s->format, b.makeReshape(y, shape));
}

/// conv_connected_inputs of tf_keras/src/utils/conv_utils.py
bool LocalConvolution::sees(int64_t d, int64_t input, int64_t output) const {
  const int64_t left = s->kernel[d] / 2, right = s->kernel[d] - left;
  const int64_t centre = output * s->strides[d] + (s->padding == "valid" ? left : 0);
  return input >= centre - left && input < centre + right;
}

/// Which place of the input a place of the result sees.
Value LocalConvolution::makeConnections() {
  Numbers all(extents);
  all.append(results.begin(), results.end());
  const std::optional<int64_t> count = product(all);
  if (!count || *count > kMostConnections)
    return b.error("more than 2^22 pairs of places; save the layer with implementation=1");
  llvm::SmallVector<double> values;
  for (int64_t number = 0; number < *count; ++number) {
    Numbers place(all.size());
    for (int64_t d = int64_t(all.size()) - 1, rest = number; d >= 0; --d) {
      place[d] = rest % all[d];
      rest /= all[d];
    }
    bool connected = true;
    for (int64_t d = 0; d < spatial; ++d)
      connected &= sees(d, place[d], place[d + spatial]);
    values.push_back(connected);
  }
  Numbers shape(extents);
  if (s->format == DataFormat::ChannelsLast)
    shape.push_back(1);
  else
    shape.insert(shape.begin(), 1);
  Numbers after(results);
  after.insert(s->format == DataFormat::ChannelsLast ? after.end() : after.begin(), 1);
  shape.append(after.begin(), after.end());
  return b.makeConstant(shape, values);
}

/// implementation=2: one matrix, of which only what is connected counts.
Value LocalConvolution::multiplyAll() {
  const bool isLast = s->format == DataFormat::ChannelsLast;
  Numbers input(extents), output(results);
  input.insert(isLast ? input.end() : input.begin(), channels);
  output.insert(isLast ? output.end() : output.begin(), filters);
  Numbers shape(input);
  shape.append(output.begin(), output.end());
  Value kernel = addKernel(shape), connections = kernel ? makeConnections() : Value();
  if (!connections)
    return {};
  kernel = b.make<MultiplyOp>(kernel, b.makeCastLike(connections, kernel));
  kernel = b.makeReshape(kernel, {*product(input), *product(output)});
  Value y = b.makeEinsum("nk,km->nm",
                         {b.makeReshape(x, {b.shapeOf(x).front(), *product(input)}), kernel});
  output.insert(output.begin(), b.shapeOf(x).front());
  return y ? b.makeReshape(y, output) : Value();
}

/// implementation=3: the numbers of that matrix which count, of each element of the result those
/// of the input that it sees, both in the order in which they lie (conv_kernel_idxs, sorted).
Value LocalConvolution::multiplySparse() {
  const bool isLast = s->format == DataFormat::ChannelsLast;
  Numbers input(extents), output(results);
  input.insert(isLast ? input.end() : input.begin(), channels);
  output.insert(isLast ? output.end() : output.begin(), filters);
  const std::optional<int64_t> rows = product(output), columns = product(input);
  int64_t size;
  if (!rows || !columns || __builtin_mul_overflow(*rows, *columns, &size) ||
      size > kMostConnections)
    return b.error("more than 2^22 pairs of elements; save the layer with implementation=1");
  auto placesOf = [&](int64_t number, llvm::ArrayRef<int64_t> shape) {
    Numbers place(shape.size());
    for (int64_t d = int64_t(shape.size()) - 1; d >= 0; number /= shape[d--])
      place[d] = number % shape[d];
    place.erase(isLast ? place.end() - 1 : place.begin());
    return place;
  };
  Numbers places;
  int64_t count = 0;
  for (int64_t row = 0; row < *rows; ++row) {
    const Numbers to = placesOf(row, output);
    for (int64_t column = 0; column < *columns; ++column) {
      const Numbers from = placesOf(column, input);
      bool connected = true;
      for (int64_t d = 0; d < spatial; ++d)
        connected &= sees(d, from[d], to[d]);
      places.push_back(connected ? count++ : -1);
    }
  }
  Value kernel = addKernel({count});
  if (!kernel)
    return {};
  kernel = b.make<PadOp>(kernel, int64_t(0), int64_t(0), int64_t(1), llvm::APFloat(0.0));
  for (int64_t &place : places)
    place = place < 0 ? count : place; // the zero behind the others
  Value index = b.makeIndices({size}, places);
  kernel =
      b.makeReshape(b.make<GatherOp>(kernel, index, int64_t(0), int64_t(0)), {*rows, *columns});
  Value y = b.makeEinsum("nk,mk->nm", {b.makeReshape(x, {b.shapeOf(x).front(), *columns}), kernel});
  output.insert(output.begin(), b.shapeOf(x).front());
  return y ? b.makeReshape(y, output) : Value();
}

/// For channels first Keras gives the bias another shape, without moving its numbers.
Value LocalConvolution::addBias(Value y) {
  if (!b.getFlag("use_bias", true))
    return y;
  Numbers shape(results);
  shape.push_back(filters);
  Value bias =
      b.addVariable({"bias", shape, "bias_initializer", "bias_regularizer", "bias_constraint"});
  if (!bias)
    return {};
  if (s->format == DataFormat::ChannelsFirst) {
    shape.assign(results.begin(), results.end());
    shape.insert(shape.begin(), filters);
    bias = b.makeReshape(bias, shape);
  }
  return b.make<AddOp>(y, bias);
}

Value LocalConvolution::run() {
  if (!read())
    return {};
  const int64_t implementation = b.getInteger("implementation", 1);
  Value y = implementation == 1   ? multiplyWindows()
            : implementation == 2 ? multiplyAll()
            : implementation == 3 ? multiplySparse()
                                  : b.error("'implementation' of " + b.layer.className + " is " +
                                            llvm::Twine(implementation) + "; expected 1, 2 or 3");
  y = y ? addBias(y) : Value();
  return y ? applyConfiguredActivation(b, "activation", y) : Value();
}

} // namespace

Value importLocallyConnected1D(LayerBuilder &b) { return LocalConvolution(b, 1).run(); }
Value importLocallyConnected2D(LayerBuilder &b) { return LocalConvolution(b, 2).run(); }

} // namespace mpc::keras
