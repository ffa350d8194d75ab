// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/Ops/Sampler.h"

namespace mpc::onnx {

using mlir::Value;
using B = NodeBuilder;
using Values = Sampler::Values;

static Value scale(B &b, Value x, double factor) {
  return b.make<MultiplyOp>(x, b.makeConstant(factor));
}
static Value shift(B &b, Value x, double term) { return b.make<AddOp>(x, b.makeConstant(term)); }
static Value clamp(B &b, Value x, double least, double most) {
  return b.make<MinimumOp>(b.make<MaximumOp>(x, b.makeConstant(least)), b.makeConstant(most));
}

Sampler::Sampler(B &b, Value image, Border border, bool alignsCorners)
    : b(b), border(border), alignsCorners(alignsCorners),
      extents(b.shapeOf(image).drop_front().drop_back()) {
  int64_t count = 1;
  for (int64_t extent : extents)
    count *= extent;
  table = b.makeReshape(image, {b.shapeOf(image).front(), count, b.shapeOf(image).back()});
}

Value Sampler::fromUnit(Value x, size_t d) const {
  const auto extent = double(extents[d]);
  return alignsCorners ? scale(b, shift(b, x, 1.0), (extent - 1) / 2)
                       : scale(b, shift(b, scale(b, shift(b, x, 1.0), extent), -1.0), 0.5);
}

Value Sampler::bring(Value x, size_t d) const {
  const int64_t extent = extents[d];
  if (border == Border::Nearest)
    return clamp(b, x, 0, double(extent - 1));
  if (border == Border::Zeros)
    return x;
  const double least = alignsCorners ? 0.0 : -0.5,
               range = alignsCorners ? double(extent - 1) : double(extent);
  if (range == 0)
    return scale(b, x, 0.0);
  // A wave of triangles with the period of twice the range.
  Value turn = shift(b, x, -least);
  Value whole = b.make<FloorOp>(scale(b, turn, 1 / (2 * range)));
  turn = b.make<SubtractOp>(turn, scale(b, whole, 2 * range));
  Value back = b.make<SubtractOp>(b.makeConstant(2 * range), turn);
  return shift(b, b.make<MinimumOp>(turn, back), least);
}

Value Sampler::at(const Values &places) const {
  const mlir::Type i32 = b.builder.getI32Type();
  Value flat, inside;
  for (size_t d = 0; d < rank(); ++d) {
    const auto most = double(extents[d] - 1);
    Value place = bring(places[d], d);
    if (border == Border::Zeros) {
      Value isInside =
          b.make<LogicalAndOp>(b.makeCompare(ComparePredicate::GE, place, b.makeConstant(0.0)),
                               b.makeCompare(ComparePredicate::LE, place, b.makeConstant(most)));
      inside = inside ? b.make<LogicalAndOp>(inside, isInside) : isInside;
    }
    place = clamp(b, place, 0, most);
    Value index = b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(place), i32), place);
    flat = flat ? b.make<AddOp>(b.make<MultiplyOp>(flat, b.makeInteger(i32, extents[d])), index)
                : index;
  }
  Value elements = b.make<GatherOp>(table, flat, int64_t(1), int64_t(1));
  return inside ? b.makeSelect(column(inside), elements, b.makeConstant(0.0)) : elements;
}

Value Sampler::combine(llvm::ArrayRef<Values> places, llvm::ArrayRef<Values> weights,
                       bool largest) const {
  Value result;
  llvm::SmallVector<size_t> tap(rank(), 0);
  for (bool isDone = false; !isDone;) {
    Values chosen;
    Value weight;
    for (size_t d = 0; d < rank(); ++d) {
      chosen.push_back(places[d][tap[d]]);
      Value own = weights[d][tap[d]];
      weight = weight ? b.make<MultiplyOp>(weight, own) : own;
    }
    Value term = b.make<MultiplyOp>(at(chosen), column(weight));
    result = !result   ? term
             : largest ? b.make<MaximumOp>(result, term)
                       : b.make<AddOp>(result, term);
    isDone = true;
    for (size_t d = rank(); isDone && d-- > 0;) {
      isDone = ++tap[d] == places[d].size();
      if (isDone)
        tap[d] = 0;
    }
  }
  return result;
}

Value Sampler::column(Value x) const {
  llvm::SmallVector<int64_t> shape(b.shapeOf(x));
  shape.push_back(1);
  return b.makeReshape(x, shape);
}

std::pair<Values, Values> linearTaps(B &b, Value x) {
  Value low = b.make<FloorOp>(x), share = b.make<SubtractOp>(x, low);
  return {{low, shift(b, low, 1.0)}, {b.make<SubtractOp>(b.makeConstant(1.0), share), share}};
}

std::pair<Values, Values> cubicTaps(B &b, Value x) {
  constexpr double a = -0.75;
  Value low = b.make<FloorOp>(x), share = b.make<SubtractOp>(x, low);
  const auto polynomial = [&](Value t, std::initializer_list<double> factors) {
    Value y;
    for (double factor : factors)
      y = y ? shift(b, b.make<MultiplyOp>(y, t), factor) : b.makeConstant(factor);
    return y;
  };
  const auto near = [&](Value t) { return polynomial(t, {a + 2, -(a + 3), 0, 1}); };
  const auto far = [&](Value t) { return polynomial(t, {a, -5 * a, 8 * a, -4 * a}); };
  Value rest = b.make<SubtractOp>(b.makeConstant(1.0), share);
  return {{shift(b, low, -1.0), low, shift(b, low, 1.0), shift(b, low, 2.0)},
          {far(shift(b, share, 1.0)), near(share), near(rest), far(shift(b, rest, 1.0))}};
}

} // namespace mpc::onnx
