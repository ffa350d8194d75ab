// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Convolutions of integers of 8 bits, in groups of several channels by the narrowest floating type
// in which their sums are exact.
#include "lib/Import/Common/Shape.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Axes.h"
#include "lib/Import/ONNX/Ops/Casts.h"
#include "lib/Import/ONNX/Ops/Quantization.h"
#include "lib/Import/ONNX/Ops/Windows.h"
#include "runtime/rules/integer_windows.h"

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;
using Extents = llvm::SmallVector<int64_t>;

/// Products of two differences of 8 bits that a float32 adds without rounding.
constexpr int64_t kMostExact = (int64_t(1) << 24) / (255 * 255);

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

/// A constant of i8.
Value makeBytes(B &b, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> numbers) {
  Literal literal = Literal::fromIntegers(b.builder, shape, numbers);
  literal.type = DataType::Int8;
  literal.tensor.elementType = b.builder.getI8Type();
  return b.makeLiteral(literal);
}

/// The image with a zero point around it that only the call knows; the window has no padding then.
Value padWith(B &b, Value x, Value zeroPoint, ConvolutionWindow &window, Extents &none) {
  Value border = castTo(b, zeroPoint, b.builder.getI8Type());
  for (size_t d = 0; d < window.strides.size(); ++d) {
    const int64_t low = window.paddingLow[d], high = window.paddingHigh[d];
    if (low == 0 && high == 0)
      continue;
    const auto axis = int64_t(d) + 1;
    // Integers are padded with zeros.
    x = b.make<PadOp>(x, axis, low, high, llvm::APFloat(0.0));
    Extents shape(size_t(b.rankOf(x)), 1), places(size_t(b.shapeOf(x)[size_t(axis)]), 0);
    shape[size_t(axis)] = int64_t(places.size());
    std::fill_n(places.begin(), low, 1);
    std::fill_n(places.end() - high, high, 1);
    x = b.make<AddOp>(x, b.make<MultiplyOp>(makeBytes(b, shape, places), border));
  }
  none.assign(window.strides.size(), 0);
  window.paddingLow = window.paddingHigh = none;
  return x;
}

/// The sums of products of integers and `bias` (null: none), in i32; null after an error.
Value convolveIntegers(B &b, const Window &window, unsigned input, unsigned inputZero,
                       unsigned weights, unsigned weightsZero, Value bias, int64_t groups) {
  std::optional<Factor> x = readFactor(b, input, inputZero, /*isImage=*/true),
                        w = x ? readFactor(b, weights, weightsZero, /*isImage=*/false)
                              : std::nullopt;
  if (!w)
    return {};
  if (x->zeroPoint && tensorTypeOf(x->zeroPoint).getNumElements() != 1)
    return b.error("the zero point of the input is not one number");
  const int64_t filters = b.shapeOf(w->value).front();
  if (w->zeroPoint && b.rankOf(w->zeroPoint) > 0 &&
      b.shapeOf(w->zeroPoint) != llvm::ArrayRef<int64_t>{filters})
    return b.error("the zero points have the shape " + printShape(b.shapeOf(w->zeroPoint)));
  ConvolutionWindow moved{window.strides, window.low, window.high, window.dilations, groups};
  Extents none;
  int64_t border = b.getType(input) == DataType::UInt8 ? -128 : 0;
  if (const Literal *known = b.has(inputZero) ? b.getLiteral(inputZero) : nullptr)
    border += known->tensor.integers.front();
  else if (b.has(inputZero))
    x->value = padWith(b, x->value, x->zeroPoint, moved, none);
  // [filters, channels, kernel...] to [kernel..., channels, filters]
  const int64_t rank = b.rankOf(w->value);
  Extents order;
  for (int64_t axis = 2; axis < rank; ++axis)
    order.push_back(axis);
  order.append({1, 0});
  Value filter = b.make<TransposeOp>(w->value, order);
  Value y = b.make<ConvolutionOp>(x->value, filter, moved, border);
  const mlir::Type i32 = b.builder.getI32Type();
  // Zero points add the same to every place of a filter, and so does the bias.
  Value offset = bias;
  if (x->zeroPoint) {
    const Extents summed = llvm::to_vector(llvm::seq<int64_t>(0, rank - 1));
    Value sums = b.makeReduce(ReduceKind::Sum, castTo(b, filter, i32), summed, /*keepDims=*/false);
    if (w->zeroPoint) {
      const int64_t depth = tensorTypeOf(filter).getNumElements() / filters;
      sums = b.make<SubtractOp>(sums, b.make<MultiplyOp>(w->zeroPoint, b.makeInteger(i32, depth)));
    }
    Value taken = b.make<MultiplyOp>(sums, x->zeroPoint);
    offset = b.make<SubtractOp>(offset ? offset : b.makeInteger(i32, 0), taken);
  }
  if (w->zeroPoint) {
    Extents shape(b.shapeOf(filter));
    shape.back() = groups; // the same for all filters of one
    size_t count = 1;
    for (int64_t extent : shape)
      count *= size_t(extent);
    Value ones = makeBytes(b, shape, Extents(count, 1));
    Value sums = b.make<ConvolutionOp>(x->value, ones, moved, border);
    y = b.make<SubtractOp>(y, b.make<MultiplyOp>(sums, w->zeroPoint));
  }
  return offset ? b.make<AddOp>(y, offset) : y;
}

/// The sums [batch, places…, filters] and `bias` of i32 (null: none), whole numbers; null after an
/// error.
Value convolve(B &b, unsigned input, unsigned inputZero, unsigned weights, unsigned weightsZero,
               Value bias = {}) {
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
  if (rules::areIntegerGroups(groups, shape[1], kernel[0], int64_t(window->rank()), depth)) {
    b.setComputeType(DataType::Float);
    return convolveIntegers(b, *window, input, inputZero, weights, weightsZero, bias, groups);
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
  Value y = b.make<ConvolutionOp>(
      x, b.make<TransposeOp>(w, order),
      ConvolutionWindow{window->strides, window->low, window->high, window->dilations, groups});
  // Their sum may have more digits than a float.
  return bias ? b.make<AddOp>(castTo(b, y, b.builder.getI32Type()), bias) : y;
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
  Value bias = b.has(8) ? b.get(8) : Value();
  if (b.has(8) && !bias)
    return;
  Value sums = convolve(b, 0, 2, 3, 5, bias);
  Value ofInput = sums ? readScale(b, 1) : Value(), ofWeights = ofInput ? readScale(b, 4) : Value();
  Value ofResult = ofWeights ? readScale(b, 6) : Value(), zero = ofResult ? b.get(7) : Value();
  if (!zero)
    return;
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
