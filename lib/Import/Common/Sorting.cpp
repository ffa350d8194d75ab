// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Common/Sorting.h"

namespace mpc {

using mlir::Value;

namespace {

Value castTo(ValueBuilder &b, Value x, mlir::Type element) {
  return b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(x), element), x);
}

Value makeAnd(ValueBuilder &b, Value lhs, Value rhs) { return b.makeSelect(lhs, rhs, lhs); }

} // namespace

Value argsortLast(ValueBuilder &b, Value x, bool descending) {
  const int64_t rank = b.rankOf(x), extent = b.shapeOf(x).back();
  if (elementTypeOf(x).isInteger(1))
    x = castTo(b, x, b.builder.getI32Type());
  llvm::SmallVector<int64_t> own(b.shapeOf(x)), others(b.shapeOf(x));
  own.push_back(1);
  others.insert(others.end() - 1, 1);
  Value mine = b.makeReshape(x, own), other = b.makeReshape(x, others);
  Value precedes =
      b.makeCompare(descending ? ComparePredicate::GT : ComparePredicate::LT, other, mine);
  Value equals = b.makeCompare(ComparePredicate::EQ, other, mine);
  if (mlir::isa<mlir::FloatType>(elementTypeOf(x))) {
    Value mineIsNaN = b.makeCompare(ComparePredicate::NE, mine, mine),
          otherIsNaN = b.makeCompare(ComparePredicate::NE, other, other);
    Value first = descending ? makeAnd(b, otherIsNaN, b.makeNot(mineIsNaN))
                             : makeAnd(b, mineIsNaN, b.makeNot(otherIsNaN));
    precedes = b.makeOr(precedes, first);
    equals = b.makeOr(equals, makeAnd(b, mineIsNaN, otherIsNaN));
  }
  llvm::SmallVector<int64_t> places = llvm::to_vector(llvm::seq<int64_t>(0, extent));
  Value rows = b.makeIndices({extent, 1}, places), columns = b.makeIndices({1, extent}, places);
  precedes =
      b.makeOr(precedes, makeAnd(b, equals, b.makeCompare(ComparePredicate::LT, columns, rows)));
  const mlir::Type i32 = b.builder.getI32Type();
  Value order = b.makeReduce(ReduceKind::Sum, castTo(b, precedes, i32), {rank}, /*keepDims=*/false);
  // The inverse permutation: which element has place k.
  llvm::SmallVector<int64_t> spread(b.shapeOf(order));
  spread.insert(spread.end() - 1, 1);
  Value hits = b.makeCompare(ComparePredicate::EQ, b.makeReshape(order, spread), rows);
  Value numbers = b.make<MultiplyOp>(castTo(b, hits, i32), columns);
  return b.makeReduce(ReduceKind::Sum, numbers, {rank}, /*keepDims=*/false);
}

} // namespace mpc
