// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions: sums, extremes, products, statistics, places of extremes, cumulative sums.
#include "lib/Import/Keras/Operations/OperationBuilder.h"

#include <cmath>
#include <limits>

namespace mpc::keras {
namespace {

using mlir::Value;
using B = OperationBuilder;

} // namespace

mlir::Value widenForSum(OperationBuilder &b, mlir::Value x) {
  const mlir::Type type = elementTypeOf(x);
  if (mlir::isa<mlir::FloatType>(type) || type.getIntOrFloatBitWidth() >= 32)
    return x;
  const mlir::Type wide = type.isUnsignedInteger()
                              ? mlir::Type(mlir::IntegerType::get(b.builder.getContext(), 32,
                                                                  mlir::IntegerType::Unsigned))
                              : b.builder.getI32Type();
  return b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(x), wide), x);
}

namespace {

/// The extreme of a reduction and the argument `initial`, which takes the tensor's dtype.
Value includeInitial(B &b, Value y, ReduceKind kind) {
  const mlir::Type type = elementTypeOf(y);
  const bool isFloat = mlir::isa<mlir::FloatType>(type);
  if (!b.findArgument(3, "initial") || b.hasFailed())
    return y;
  const std::optional<double> number = b.getNumber(3, "initial");
  const std::optional<int64_t> integer = isFloat ? std::nullopt : b.getInteger(3, "initial");
  if (b.hasFailed())
    return {};
  Value initial =
      isFloat ? b.makeCastLike(b.makeConstant(*number), y) : b.makeInteger(type, *integer);
  return kind == ReduceKind::Max ? b.make<MaximumOp>(y, initial) : b.make<MinimumOp>(y, initial);
}

template <ReduceKind kind> Value reduce(B &b) {
  Value x = b.getValue(0, "x");
  if (!x)
    return {};
  std::optional<llvm::SmallVector<int64_t>> axes = b.getAxes(1, "axis", x, /*acrossSamples=*/true);
  if (!axes)
    return {};
  if (kind == ReduceKind::All || kind == ReduceKind::Any)
    x = b.makeBool(x);
  else if (kind == ReduceKind::Sum)
    x = widenForSum(b, x);
  else if (kind == ReduceKind::Mean && !mlir::isa<mlir::FloatType>(elementTypeOf(x)))
    x = b.makeCastToFloat(x);
  else if (elementTypeOf(x).isInteger(1))
    return b.error("'" + b.layer.className + "' of truth values is not supported; use any or all");
  Value y = axes->empty() ? x : b.makeReduce(kind, x, *axes, b.getFlag(2, "keepdims", false));
  return kind == ReduceKind::Max || kind == ReduceKind::Min ? includeInitial(b, y, kind) : y;
}

/// The operands that reductions of floating values in float32 or wider begin with.
struct WideReduction {
  Value x, wide;
  llvm::SmallVector<int64_t> axes;
  bool keepDims;

  /// None after an error.
  static std::optional<WideReduction> read(B &b, llvm::StringRef axisName, bool acrossSamples) {
    Value x = b.getFloat(0, "x");
    std::optional<llvm::SmallVector<int64_t>> axes =
        x ? b.getAxes(1, axisName, x, acrossSamples) : std::nullopt;
    if (!axes)
      return std::nullopt;
    return WideReduction{x, b.makeCastLike(x, x, /*wide=*/true), *axes,
                         b.getFlag(2, "keepdims", false)};
  }
};

/// Var and Std in float32 or wider, rounded once.
template <bool root> Value variance(B &b) {
  auto r = WideReduction::read(b, "axis", /*acrossSamples=*/true);
  if (!r)
    return {};
  Value y = MomentsOp::create(b.builder, b.location, r->wide, r->axes, r->keepDims).getVariance();
  return b.makeCastLike(root ? b.make<SqrtOp>(y) : y, r->x);
}

/// mean and variance; in 16-bit types clipped to what float16 holds, as Keras does.
Value moments(B &b) {
  auto r = WideReduction::read(b, "axes", /*acrossSamples=*/true);
  if (!r)
    return {};
  auto both = MomentsOp::create(b.builder, b.location, r->wide, r->axes, r->keepDims);
  b.addResult(b.makeCastLike(both.getVariance(), r->x));
  return b.makeCastLike(both.getMean(), r->x);
}

/// log(sum e^x), in float32 or wider.
Value logSumExp(B &b) {
  auto r = WideReduction::read(b, "axis", /*acrossSamples=*/true);
  if (!r)
    return {};
  Value y = mpc::logSumExp(b.builder, b.location, r->wide, r->axes);
  if (!r->keepDims)
    y = b.makeReshape(y, reducedShape(b.shapeOf(r->x), r->axes, /*keepDims=*/false));
  return b.makeCastLike(y, r->x);
}

Value isNaN(B &b, Value x) { return b.makeCompare(ComparePredicate::NE, x, x); }

/// The elements, and `number` in place of NaN.
Value replaceNaN(B &b, Value x, double number) {
  return b.makeSelect(isNaN(b, x), b.makeCastLike(b.makeConstant(number), x), x);
}

/// Halves each axis until one element is left: few roundings, and derivatives that are right where
/// factors are zero.
Value multiplyAlong(B &b, Value y, llvm::ArrayRef<int64_t> axes) {
  for (int64_t axis : axes) {
    int64_t extent = b.shapeOf(y)[axis];
    if (extent == 0)
      return b.error("'Prod' over an axis without elements is not supported");
    while (extent > 1) {
      const int64_t half = extent / 2;
      Value first = b.make<SliceOp>(y, axis, 0, half),
            second = b.make<SliceOp>(y, axis, half, half);
      Value paired = b.make<MultiplyOp>(first, second);
      if (extent % 2) {
        llvm::SmallVector<Value> parts = {paired, b.make<SliceOp>(y, axis, extent - 1, 1)};
        paired = b.make<ConcatenateOp>(mlir::ValueRange(parts), axis);
      }
      y = paired;
      extent = half + extent % 2;
    }
  }
  return y;
}

/// In the dtype that Keras widens narrow integers to, unless the call names one, which TensorFlow's
/// Keras then passes over.
Value integerProduct(B &b, Value x) {
  std::optional<llvm::SmallVector<int64_t>> axes = b.getAxes(1, "axis", x, /*acrossSamples=*/false);
  if (!axes)
    return {};
  if (b.getString(3, "dtype", "").empty())
    x = widenForSum(b, x);
  Value y = multiplyAlong(b, x, *axes);
  return !y || b.getFlag(2, "keepdims", false)
             ? y
             : b.makeReshape(y, reducedShape(b.shapeOf(x), *axes, /*keepDims=*/false));
}

template <bool skipsNaN> Value product(B &b) {
  const Operand operand = b.getOperand(0, "x");
  if (operand && !operand.isFloat())
    return integerProduct(b, operand.value);
  auto r = WideReduction::read(b, "axis", /*acrossSamples=*/false);
  if (!r)
    return {};
  Value y = multiplyAlong(b, skipsNaN ? replaceNaN(b, r->wide, 1.0) : r->wide, r->axes);
  if (!y)
    return {};
  if (!r->keepDims)
    y = b.makeReshape(y, reducedShape(b.shapeOf(r->x), r->axes, /*keepDims=*/false));
  return b.makeCastLike(y, r->x);
}

/// Place of the first largest or smallest element, an int32; with `skipsNaN` -1 where all are NaN.
template <bool smallest, bool skipsNaN> Value placeOf(B &b) {
  Operand operand = b.getOperand(0, "x");
  if (!operand)
    return {};
  if (!operand.isFloat())
    return b.error("'" + b.layer.className + "' of integers is not supported; cast them first");
  Value x = operand.value;
  if (!b.findArgument(1, "axis"))
    return b.error("'" + b.layer.className + "' without an axis counts across samples; name one");
  std::optional<int64_t> axis = b.getAxis(1, "axis", -1, x);
  if (!axis)
    return {};
  Value sized = smallest ? b.make<NegateOp>(x) : x, numbers = sized;
  if (skipsNaN)
    numbers = replaceNaN(b, sized, -std::numeric_limits<double>::infinity());
  Value place = b.make<ArgMaxOp>(numbers, *axis);
  if (skipsNaN)
    place = b.makeSelect(b.makeReduce(ReduceKind::All, isNaN(b, sized), {*axis}, false),
                         b.makeScalar(elementTypeOf(place), -1), place);
  return b.getFlag(2, "keepdims", false)
             ? b.makeReshape(place, reducedShape(b.shapeOf(x), *axis, /*keepDims=*/true))
             : place;
}

/// The operand of cumulative operations, in the dtype that they are told; null after an error.
Value readCumulated(B &b, std::optional<double> nan) {
  Value x = b.getValue(0, "x");
  if (!x)
    return {};
  if (!b.findArgument(1, "axis"))
    return b.error("'" + b.layer.className + "' without an axis goes across samples; name one");
  if (nan)
    x = makeFinite(b, x, *nan);
  const std::string dtype = b.getString(2, "dtype", "");
  return x && !dtype.empty() ? castToDType(b, x, dtype) : x;
}

/// Each step adds the sums that end `distance` places before. An element that is not finite is in
/// the sums behind it alone.
Value sumsUpTo(B &b, Value x, int64_t axis) {
  const int64_t extent = b.shapeOf(x)[axis];
  for (int64_t distance = 1; distance < extent; distance *= 2) {
    const int64_t rest = extent - distance;
    Value sums = b.make<AddOp>(b.make<SliceOp>(x, axis, distance, rest),
                               b.make<SliceOp>(x, axis, int64_t(0), rest));
    x = b.make<ConcatenateOp>(
        mlir::ValueRange{b.make<SliceOp>(x, axis, int64_t(0), distance), sums}, axis);
  }
  return x;
}

/// Integers in their own dtype; sums of floats in float32 or wider, rounded once.
template <bool skipsNaN> Value cumulativeSum(B &b) {
  Value x = readCumulated(b, skipsNaN ? std::optional(0.0) : std::nullopt);
  if (!x)
    return {};
  std::optional<int64_t> axis = b.getAxis(1, "axis", -1, x);
  if (!axis)
    return {};
  if (!mlir::isa<mlir::FloatType>(elementTypeOf(x)))
    return sumsUpTo(b, elementTypeOf(x).isInteger(1) ? widenForSum(b, x) : x, *axis);
  return b.makeCastLike(sumsUpTo(b, b.makeCastLike(x, x, /*wide=*/true), *axis), x);
}

/// The largest sum of magnitudes of a column (`p` 1) or of a row (infinity) of matrices; of a
/// negative `p` the least.
Value matrixNorm(B &b, Value x, double p, bool keepDims) {
  llvm::SmallVector<int64_t> axes = *b.getIntegers(2, "axis"); // in the order of rows and columns
  for (int64_t &axis : axes)
    axis = axis < 0 ? axis + b.rankOf(x) : axis;
  Value sums = b.makeReduce(ReduceKind::Sum, b.make<AbsOp>(x),
                            std::isinf(p) ? axes.back() : axes.front(), /*keepDims=*/true);
  llvm::sort(axes);
  return b.makeReduce(p > 0 ? ReduceKind::Max : ReduceKind::Min, sums, axes, keepDims);
}

/// Vector norms along one axis, the Frobenius norm of any axes and matrix norms of sums
/// (keras/src/ops/linalg.py, Norm). Powers are float32 or wider: float16 holds those of few
/// numbers.
Value norm(B &b) {
  Value x = b.getFloat(0, "x");
  std::optional<llvm::SmallVector<int64_t>> axes =
      x ? b.getAxes(2, "axis", x, /*acrossSamples=*/false) : std::nullopt;
  if (!axes)
    return {};
  const bool keepDims = b.getFlag(3, "keepdims", false);
  const llvm::json::Value *order = b.getLiteral(1, "ord");
  const bool isText = order && order->getAsString();
  const double p = order && !isText ? order->getAsNumber().value_or(0.5) : 2.0;
  if (order && !isText && axes->size() == 2 && (std::isinf(p) || std::abs(p) == 1.0) &&
      b.getIntegers(2, "axis"))
    return matrixNorm(b, x, p, keepDims);
  if ((isText && order->getAsString() != llvm::StringRef("fro")) ||
      (axes->size() != 1 && order && !isText) || (axes->size() == 1 && isText))
    return b.error("'Norm' of matrices is supported with 'ord' fro, 1, -1, inf and -inf");
  Value wide = b.makeCastLike(x, x, /*wide=*/true);
  auto sumUp = [&](Value power) { return b.makeReduce(ReduceKind::Sum, power, *axes, keepDims); };
  if (p == 2.0)
    return b.makeCastLike(b.make<SqrtOp>(sumUp(b.make<MultiplyOp>(wide, wide))), x);
  Value size = b.make<AbsOp>(x);
  if (std::isinf(p))
    return b.makeReduce(p > 0 ? ReduceKind::Max : ReduceKind::Min, size, *axes, keepDims);
  if (p == 0.0) {
    Value counted = b.makeSelect(b.makeCompare(ComparePredicate::NE, x, b.makeConstant(0.0)),
                                 b.makeCastLike(b.makeConstant(1.0), x),
                                 b.makeCastLike(b.makeConstant(0.0), x));
    return sumUp(counted);
  }
  if (p == 1.0)
    return sumUp(size);
  Value sum = sumUp(b.make<PowerOp>(b.make<AbsOp>(wide), b.makeConstant(p)));
  return b.makeCastLike(b.make<PowerOp>(sum, b.makeConstant(1.0 / p)), x);
}

/// Differences of neighbours, `n` times.
Value difference(B &b) {
  Value x = b.getValue(0, "a");
  const int64_t times = b.getInteger(1, "n").value_or(1);
  if (!x)
    return {};
  std::optional<int64_t> axis = b.getAxis(2, "axis", -1, x);
  if (!axis)
    return {};
  if (times < 0 || times >= b.shapeOf(x)[*axis] || elementTypeOf(x).isInteger(1))
    return b.error("'Diff' " + llvm::Twine(times) + " times of " +
                   llvm::Twine(b.shapeOf(x)[*axis]) + " elements is not supported");
  for (int64_t i = 0; i < times; ++i) {
    const int64_t rest = b.shapeOf(x)[*axis] - 1;
    x = b.make<SubtractOp>(b.make<SliceOp>(x, *axis, int64_t(1), rest),
                           b.make<SliceOp>(x, *axis, int64_t(0), rest));
  }
  return x;
}

/// Products of an element and those before it.
template <bool skipsNaN> Value cumulativeProduct(B &b) {
  Value x = readCumulated(b, skipsNaN ? std::optional(1.0) : std::nullopt);
  if (!x)
    return {};
  std::optional<int64_t> axis = b.getAxis(1, "axis", -1, x);
  if (!axis)
    return {};
  const int64_t extent = b.shapeOf(x)[*axis];
  if (extent > 128 || elementTypeOf(x).isInteger(1))
    return b.error("'" + b.layer.className +
                   "' of more than 128 elements or of truth values is not supported");
  llvm::SmallVector<Value> products;
  for (int64_t i = 0; i < extent; ++i) {
    Value element = b.make<SliceOp>(x, *axis, i, int64_t(1));
    products.push_back(i ? b.make<MultiplyOp>(products.back(), element) : element);
  }
  return extent == 1 ? x : b.make<ConcatenateOp>(products, *axis);
}

constexpr OperationEntry kReductionOperations[] = {
    {"All", reduce<ReduceKind::All>},
    {"Amax", reduce<ReduceKind::Max>},
    {"Amin", reduce<ReduceKind::Min>},
    {"Any", reduce<ReduceKind::Any>},
    {"Argmax", placeOf<false, false>},
    {"Argmin", placeOf<true, false>},
    {"Cumprod", cumulativeProduct<false>},
    {"Cumsum", cumulativeSum<false>},
    {"Diff", difference},
    {"Logsumexp", logSumExp},
    {"Max", reduce<ReduceKind::Max>},
    {"Mean", reduce<ReduceKind::Mean>},
    {"Min", reduce<ReduceKind::Min>},
    {"Moments", moments},
    {"Nanargmax", placeOf<false, true>},
    {"Nanargmin", placeOf<true, true>},
    {"Nancumprod", cumulativeProduct<true>},
    {"Nancumsum", cumulativeSum<true>},
    {"Nanprod", product<true>},
    {"Norm", norm},
    {"Prod", product<false>},
    {"Std", variance<true>},
    {"Sum", reduce<ReduceKind::Sum>},
    {"Var", variance<false>},
};

} // namespace

llvm::ArrayRef<OperationEntry> reductionOperations() { return kReductionOperations; }

} // namespace mpc::keras
