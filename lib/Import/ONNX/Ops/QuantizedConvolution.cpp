// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Convolutions of integers of 8 bits: products of integers with what the window reads, or in groups
// the narrowest floating type in which their sums are exact.
#include "lib/Import/Common/Shape.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Axes.h"
#include "lib/Import/ONNX/Ops/Casts.h"
#include "lib/Import/ONNX/Ops/Quantization.h"
#include "lib/Import/ONNX/Ops/Windows.h"

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;
using Extents = llvm::SmallVector<int64_t>;

/// Products of two differences of 8 bits that a float32 adds without rounding.
constexpr int64_t kMostExact = (int64_t(1) << 24) / (255 * 255);

/// The taps of a window that are gathered for a product.
constexpr int64_t kMostTaps = 64;

/// Input `i` without its zero point, as whole floating numbers, of an image with the channels last;
/// null after an error.
Value readDifference(B &b, unsigned i, unsigned zeroPoint, bool isImage) {
  if (b.getType(i) != DataType::Int8 && b.getType(i) != DataType::UInt8)
    return b.error("takes integers of 8 bits");
  Value x = b.get(i);
  if (x && isImage)
    x = toChannelsLast(b, x);
  const mlir::Type i32 = b.builder.getI32Type();
  Value whole = x ? castTo(b, x, i32) : Value();
  if (whole && b.has(zeroPoint)) {
    Value zero = b.get(zeroPoint);
    if (!zero)
      return {};
    // One number, or of weights one for each filter.
    Extents shape;
    if (tensorTypeOf(zero).getNumElements() != 1) {
      shape.assign(size_t(b.rankOf(x)), 1);
      shape.front() = b.shapeOf(x).front();
    }
    if (!shape.empty() && b.shapeOf(zero) != llvm::ArrayRef<int64_t>{shape.front()})
      return b.error("the zero points have the shape " + printShape(b.shapeOf(zero)));
    whole = b.make<SubtractOp>(whole, castTo(b, b.makeReshape(zero, shape), i32));
  }
  return whole ? b.makeCastToFloat(whole) : Value();
}

/// x, of i8, with elements of `border` before and behind along the axis.
Value pad(B &b, Value x, int64_t axis, int64_t low, int64_t high, int64_t border) {
  if (low == 0 && high == 0)
    return x;
  // Integers are padded with zeros.
  Value padded = b.make<PadOp>(x, axis, low, high, llvm::APFloat(0.0));
  if (border == 0)
    return padded;
  Extents shape(size_t(b.rankOf(x)), 1), added(size_t(b.shapeOf(padded)[size_t(axis)]), 0);
  shape[size_t(axis)] = int64_t(added.size());
  std::fill_n(added.begin(), low, border);
  std::fill_n(added.end() - high, high, border);
  Literal literal = Literal::fromIntegers(b.builder, shape, added);
  literal.type = DataType::Int8;
  literal.tensor.elementType = b.builder.getI8Type();
  return b.make<AddOp>(padded, b.makeLiteral(literal));
}

/// The taps of the window read of x, [batch, spatial…, channels]: [batch, places…, taps *
/// channels], taps in the order of the kernel. Outside of x stands `border`.
Value readTaps(B &b, Value x, const Window &window, int64_t border) {
  const auto rank = int64_t(window.rank());
  Extents places;
  for (int64_t d = 0; d < rank; ++d)
    places.push_back(window.places(size_t(d), b.shapeOf(x)[size_t(d) + 1]));
  for (int64_t d = 0; d < rank; ++d)
    x = pad(b, x, d + 1, window.low[size_t(d)], window.high[size_t(d)], border);
  llvm::SmallVector<Value> parts{x};
  for (int64_t d = 0; d < rank; ++d) {
    llvm::SmallVector<Value> along;
    for (Value part : parts)
      for (int64_t tap = 0; tap < window.kernel[size_t(d)]; ++tap)
        along.push_back(sliceAxis(b, part, d + 1, tap * window.dilations[size_t(d)],
                                  window.strides[size_t(d)], places[size_t(d)]));
    parts = along;
  }
  return parts.size() == 1 ? parts.front()
                           : b.make<ConcatenateOp>(mlir::ValueRange(parts), rank + 1);
}

/// The sums as a product of integers, in i32; null after an error.
Value multiplyWindows(B &b, const Window &window, unsigned input, unsigned inputZero,
                      unsigned weights, unsigned weightsZero) {
  std::optional<Factor> x = readFactor(b, input, inputZero, /*isImage=*/true),
                        w = x ? readFactor(b, weights, weightsZero, /*isImage=*/true)
                              : std::nullopt;
  if (!w)
    return {};
  const int64_t shift = b.getType(input) == DataType::UInt8 ? 128 : 0;
  const int64_t border =
      (b.has(inputZero) ? b.getLiteral(inputZero)->tensor.integers.front() : 0) - shift;
  const int64_t filters = b.shapeOf(w->value).front();
  x->value = readTaps(b, x->value, window, border);
  w->value = b.makeReshape(w->value, {filters, b.shapeOf(x->value).back()});
  return multiplyFactors(b, *x, *w, /*isTransposed=*/true);
}

/// Whether the zero point is one number that is known.
bool isKnownNumber(B &b, unsigned zeroPoint) {
  const Literal *known = b.has(zeroPoint) ? b.getLiteral(zeroPoint) : nullptr;
  return !b.has(zeroPoint) || (known && known->isInteger() && known->tensor.size() == 1);
}

/// The sums [batch, places…, filters], whole numbers; null after an error.
Value convolve(B &b, unsigned input, unsigned inputZero, unsigned weights, unsigned weightsZero) {
  const Extents shape = b.getShape(input), kernel = b.getShape(weights);
  const int64_t groups = b.attributes.getInteger("group", 1);
  if (shape.size() < 3 || shape.size() > 5 || kernel.size() != shape.size() || groups < 1 ||
      shape[1] != kernel[1] * groups || kernel[0] % groups)
    return b.error("the shapes " + printShape(shape) + " and " + printShape(kernel) +
                   " do not fit a convolution of " + llvm::Twine(groups) + " groups");
  int64_t depth = 1;
  for (int64_t extent : llvm::ArrayRef(kernel).drop_front())
    depth *= extent;
  auto window =
      Window::read(b, llvm::ArrayRef(shape).drop_front(2), llvm::ArrayRef(kernel).drop_front(2));
  if (!window)
    return {};
  for (size_t d = 0; d < window->rank(); ++d)
    if (window->low[d] < 0 || window->high[d] < 0 || window->places(d, shape[d + 2]) < 1)
      return b.error("the window does not fit, or its padding is negative");
  int64_t taps = 1;
  for (int64_t extent : window->kernel)
    taps *= extent;
  if (groups == 1 && taps <= kMostTaps && isKnownNumber(b, inputZero)) {
    b.setComputeType(DataType::Float);
    return multiplyWindows(b, *window, input, inputZero, weights, weightsZero);
  }
  b.setComputeType(depth > kMostExact ? DataType::Double : DataType::Float);
  Value x = readDifference(b, input, inputZero, /*isImage=*/true),
        w = x ? readDifference(b, weights, weightsZero, /*isImage=*/false) : Value();
  if (!w)
    return {};
  Extents order;
  for (size_t axis = 2; axis < shape.size(); ++axis)
    order.push_back(int64_t(axis));
  order.append({1, 0});
  return b.make<ConvolutionOp>(
      x, b.make<TransposeOp>(w, order),
      ConvolutionWindow{window->strides, window->low, window->high, window->dilations, groups});
}

void convInteger(B &b) {
  if (Value y = convolve(b, 0, 2, 1, 3))
    b.setResult(0, fromChannelsLast(b, castTo(b, y, b.builder.getI32Type())), DataType::Int32);
}

Value readScale(B &b, unsigned i) {
  Value scale = b.get(i);
  if (!scale || tensorTypeOf(scale).getNumElements() != 1)
    return scale;
  return b.makeReshape(scale, {});
}

void qLinearConv(B &b) {
  const DataType type = b.getType(7);
  if (!rangeOf(type))
    return (void)b.error("the output's zero point must be an integer of 8 bits");
  Value sums = convolve(b, 0, 2, 3, 5);
  Value ofInput = sums ? readScale(b, 1) : Value(), ofWeights = ofInput ? readScale(b, 4) : Value();
  Value ofResult = ofWeights ? readScale(b, 6) : Value(), zero = ofResult ? b.get(7) : Value();
  if (!zero)
    return;
  if (b.has(8)) {
    Value bias = b.get(8);
    if (!bias)
      return;
    // Their sum may have more digits than a float.
    Value whole = castTo(b, sums, b.builder.getI32Type());
    sums = b.make<AddOp>(whole, bias);
  }
  if (!b.isFloat(sums))
    sums = b.makeCastToFloat(sums);
  Value factor = b.make<DivideOp>(b.make<MultiplyOp>(ofInput, ofWeights), ofResult);
  Value y = saturate(b, b.make<MultiplyOp>(sums, factor), b.makeReshape(zero, {}), type);
  b.setResult(0, fromChannelsLast(b, y), type);
}

constexpr OpEntry kTable[] = {
    {"ConvInteger", 10, convInteger},
    {"QLinearConv", 10, qLinearConv},
};

} // namespace

llvm::ArrayRef<OpEntry> getQuantizedConvolutionOps() { return kTable; }

} // namespace mpc::onnx
