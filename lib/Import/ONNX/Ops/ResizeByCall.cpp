// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/Ops/ResizeByCall.h"

namespace mpc::onnx {

using mlir::Value;
using B = NodeBuilder;

namespace {

using Mode = Resizing::Mode;
using Rounding = Resizing::Rounding;
using Coordinates = Resizing::Coordinates;

/// Arithmetic of coordinates.
struct Formula {
  B &b;

  Value number(double value) const { return b.makeConstant(value); }
  Value add(Value x, Value y) const { return b.make<AddOp>(x, y); }
  Value subtract(Value x, Value y) const { return b.make<SubtractOp>(x, y); }
  Value times(Value x, Value y) const { return b.make<MultiplyOp>(x, y); }
  Value divide(Value x, Value y) const { return b.make<DivideOp>(x, y); }

  /// The coordinates in the input of all places.
  Value coordinates(const Resizing &resizing, const ResizedByCall &axis) const {
    llvm::SmallVector<double> numbers;
    for (int64_t place = 0; place < axis.places; ++place)
      numbers.push_back(double(place));
    Value place = b.makeConstant({axis.places}, numbers);
    const double extent = double(axis.extent);
    Value width = times(axis.scale, number(extent));
    Value isOne = b.makeCompare(ComparePredicate::EQ, width, number(1.0));
    // Where the width is 1, the quotient is not taken; it shall not divide by 0 either.
    Value reach = b.makeSelect(isOne, number(1.0), subtract(width, number(1.0)));
    Value half = subtract(divide(add(place, number(0.5)), axis.scale), number(0.5));
    switch (resizing.coordinates) {
    case Coordinates::AlignCorners:
      return b.makeSelect(isOne, number(0.0), divide(times(place, number(extent - 1)), reach));
    case Coordinates::Asymmetric:
      return divide(place, axis.scale);
    case Coordinates::PytorchHalfPixel:
      return axis.places == 1 ? b.makeConstant({1}, llvm::SmallVector<double>{0.0}) : half;
    case Coordinates::HalfPixel:
      return half;
    case Coordinates::HalfPixelSymmetric:
      return add(times(number(extent / 2),
                       subtract(number(1.0), divide(number(double(axis.places)), width))),
                 half);
    case Coordinates::CropAndResize:
      break;
    }
    Value size = times(subtract(axis.end, axis.begin), number(extent - 1));
    Value along = axis.places == 1 ? b.makeReshape(times(size, number(0.5)), {1})
                                   : divide(times(place, size), reach);
    return add(along, times(axis.begin, number(extent - 1)));
  }

  /// Keys's kernel at a distance below 1, and from 1 to 2.
  Value near(double a, Value x) const {
    Value line = subtract(times(number(a + 2), x), number(a + 3));
    return add(times(times(line, x), x), number(1.0));
  }
  Value far(double a, Value x) const {
    Value line = subtract(times(number(a), x), number(5 * a));
    return subtract(times(add(times(line, x), number(8 * a)), x), number(4 * a));
  }

  /// The weights of the neighbours from `first` on.
  llvm::SmallVector<Value> weights(const Resizing &resizing, Value ratio, int64_t &first) const {
    Value rest = subtract(number(1.0), ratio);
    first = resizing.mode == Mode::Cubic ? -1 : 0;
    if (resizing.mode != Mode::Cubic)
      return {rest, ratio};
    const double a = resizing.cubic;
    return {far(a, add(ratio, number(1.0))), near(a, ratio), near(a, rest),
            far(a, add(rest, number(1.0)))};
  }

  Value takesRight(Rounding rounding, Value ratio) const {
    switch (rounding) {
    case Rounding::PreferFloor:
      return b.makeCompare(ComparePredicate::GT, ratio, number(0.5));
    case Rounding::PreferCeil:
      return b.makeCompare(ComparePredicate::GE, ratio, number(0.5));
    case Rounding::Floor:
      return b.makeCompare(ComparePredicate::EQ, ratio, number(1.0));
    case Rounding::Ceil:
      break;
    }
    return b.makeCompare(ComparePredicate::GE, ratio, number(0.0));
  }
};

Value resizeAxis(B &b, Value x, const Resizing &resizing, const ResizedByCall &axis) {
  const Formula f{b};
  const mlir::Type i64 = b.builder.getI64Type();
  Value at = f.coordinates(resizing, axis);
  Value left = f.subtract(b.make<NegateOp>(b.make<FloorOp>(b.make<NegateOp>(at))), f.number(1.0));
  Value ratio = f.subtract(at, left);
  Value index = b.make<CastOp>(mlir::RankedTensorType::get({axis.places}, i64), left);
  Value zero = b.makeInteger(i64, 0), last = b.makeInteger(i64, axis.extent - 1);
  auto clamp = [&](Value places) {
    return b.make<MinimumOp>(b.make<MaximumOp>(places, zero), last);
  };
  llvm::SmallVector<int64_t> shape(size_t(b.rankOf(x)), 1);
  shape[size_t(axis.axis)] = axis.places;
  Value y;
  if (resizing.mode == Mode::Nearest) {
    Value right = b.make<AddOp>(index, b.makeInteger(i64, 1));
    Value nearest = b.makeSelect(f.takesRight(resizing.rounding, ratio), right, index);
    y = b.make<GatherOp>(x, clamp(nearest), axis.axis);
  } else {
    int64_t first = 0;
    Value total;
    for (const auto &[i, given] : llvm::enumerate(f.weights(resizing, ratio, first))) {
      Value weight = given;
      Value neighbour = b.make<AddOp>(index, b.makeInteger(i64, first + int64_t(i)));
      if (resizing.excludesOutside) {
        Value isInside = b.make<LogicalAndOp>(b.makeCompare(ComparePredicate::GE, neighbour, zero),
                                              b.makeCompare(ComparePredicate::LE, neighbour, last));
        weight = b.makeSelect(isInside, weight, f.number(0.0));
      }
      total = total ? f.add(total, weight) : weight;
      Value part =
          f.times(b.make<GatherOp>(x, clamp(neighbour), axis.axis), b.makeReshape(weight, shape));
      y = y ? f.add(y, part) : part;
    }
    if (resizing.excludesOutside)
      y = f.divide(y, b.makeReshape(total, shape));
  }
  if (resizing.coordinates != Coordinates::CropAndResize)
    return y;
  Value isInside = b.make<LogicalAndOp>(
      b.makeCompare(ComparePredicate::GE, at, f.number(0.0)),
      b.makeCompare(ComparePredicate::LE, at, f.number(double(axis.extent - 1))));
  return b.makeSelect(b.makeReshape(isInside, shape), y,
                      f.number(b.attributes.getNumber("extrapolation_value", 0.0)));
}

} // namespace

Value resizeByCall(B &b, Value x, const Resizing &resizing, llvm::ArrayRef<ResizedByCall> axes) {
  if (resizing.antialias)
    return b.error("the scales must be constant where 'antialias' is set");
  const bool crops = resizing.coordinates == Coordinates::CropAndResize;
  if (!b.isFloat(x) && (resizing.mode != Mode::Nearest || crops))
    return b.error("of integers needs constant scales");
  // Coordinates next to the middle of two elements need the digits of float64.
  const bool isWide = b.keepsTypes() && b.getType(0) == DataType::Float;
  if (isWide)
    b.setComputeType(DataType::Double);
  for (const ResizedByCall &axis : axes) {
    if (mlir::ShapedType::isDynamic(axis.extent))
      return b.errorOfOpenBatch("resizes the open batch");
    x = resizeAxis(b, x, resizing, axis);
  }
  return isWide ? b.makeCastTo(x, b.builder.getF32Type()) : x;
}

} // namespace mpc::onnx
