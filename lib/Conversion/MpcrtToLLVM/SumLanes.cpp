// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Conversion/MpcrtToLLVM/SumLanes.h"
#include "lib/Conversion/MpcrtToLLVM/LoopVectors.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mpc;

Value SumLanes::roundDown(OpBuilder &b, Value value, int64_t number) const {
  Value quotient = arith::DivUIOp::create(b, loc, value, constant(b, number));
  return arith::MulIOp::create(b, loc, quotient, constant(b, number));
}

Value SumLanes::advance(OpBuilder &b, Value index, int64_t number) const {
  if (auto known = getConstantIntValue(index))
    return constant(b, *known + number);
  return number ? arith::AddIOp::create(b, loc, index, constant(b, number)) : index;
}

Sums SumLanes::combine(OpBuilder &b, ValueRange before, ValueRange after) const {
  Sums results;
  for (auto [combiner, x, y] : llvm::zip_equal(combiners, before, after)) {
    Operation *clone = combiner->clone();
    clone->setOperands({x, y});
    clone->getResult(0).setType(x.getType());
    if (auto sum = dyn_cast<arith::AddFOp>(clone))
      sum.setFastmath(arith::FastMathFlags::none);
    b.insert(clone);
    results.push_back(clone->getResult(0));
  }
  return results;
}

SmallVector<Sums> SumLanes::neutral(OpBuilder &b, int64_t vectors, int64_t lanes) const {
  Sums values;
  for (Operation *combiner : combiners) {
    TypedAttr number = *arith::getNeutralElement(combiner);
    // Adding 0 would make another number of -0, so that LLVM would have to do it; -0 changes
    // nothing.
    if (auto sum = dyn_cast<arith::AddFOp>(combiner))
      number = b.getFloatAttr(sum.getType(), -0.0);
    if (lanes > 1)
      number = DenseElementsAttr::get(cast<VectorType>(vectorOf(number.getType(), lanes)),
                                      Attribute(number));
    values.push_back(arith::ConstantOp::create(b, loc, number));
  }
  return SmallVector<Sums>(vectors, values);
}

SmallVector<Sums> SumLanes::repeat(OpBuilder &b, Value begin, Value end, int64_t step,
                                   SmallVector<Sums> sums, Iteration iteration) const {
  auto first = getConstantIntValue(begin), last = getConstantIntValue(end);
  if (first && last && *last - *first <= step)
    return *first == *last ? sums : iteration(b, begin, sums);
  SmallVector<Value> start;
  for (const Sums &sum : sums)
    llvm::append_range(start, sum);
  auto repeated = scf::ForOp::create(b, loc, begin, end, constant(b, step), start);
  auto split = [&](ValueRange values) {
    for (Sums &sum : sums) {
      sum.assign(values.begin(), values.begin() + combiners.size());
      values = values.drop_front(combiners.size());
    }
  };
  OpBuilder inner = OpBuilder::atBlockBegin(repeated.getBody());
  split(repeated.getRegionIterArgs());
  SmallVector<Value> next;
  for (const Sums &sum : iteration(inner, repeated.getInductionVar(), sums))
    llvm::append_range(next, sum);
  scf::YieldOp::create(inner, loc, next);
  split(repeated.getResults());
  return sums;
}

SmallVector<Sums> SumLanes::accumulate(OpBuilder &b, SmallVector<Sums> sums, int64_t lanes,
                                       Value begin, Value end, Terms terms) const {
  const int64_t step = int64_t(sums.size()) * lanes;
  return repeat(b, begin, end, step, std::move(sums),
                [&](OpBuilder &inner, Value index, SmallVector<Sums> before) {
                  for (auto [i, sum] : llvm::enumerate(before))
                    sum = combine(inner, sum,
                                  terms(inner, advance(inner, index, int64_t(i) * lanes), lanes));
                  return before;
                });
}

Sums SumLanes::foldVectors(OpBuilder &b, SmallVector<Sums> sums) const {
  while (sums.size() > 1) {
    const size_t half = (sums.size() + 1) / 2;
    for (size_t i = half; i < sums.size(); ++i)
      sums[i - half] = combine(b, sums[i - half], sums[i]);
    sums.resize(half);
  }
  return sums[0];
}

Sums SumLanes::foldLanes(OpBuilder &b, Sums sums, int64_t lanes, Value index, int64_t left,
                         Terms terms) const {
  for (int64_t width = lanes / 2; width > 0; width /= 2) {
    Sums low, high;
    for (Value sum : sums) {
      low.push_back(lanesOf(b, loc, sum, 0, width));
      high.push_back(lanesOf(b, loc, sum, width, width));
    }
    sums = combine(b, low, high);
    if (left & width) {
      sums = combine(b, sums, terms(b, index, width));
      index = advance(b, index, width);
    }
  }
  return sums;
}

Sums SumLanes::finish(OpBuilder &b, SmallVector<Sums> sums, int64_t lanes, Value index,
                      int64_t left, Terms terms) const {
  for (int64_t i = 0; i < left / lanes; ++i) {
    sums[i] = combine(b, sums[i], terms(b, index, lanes));
    index = advance(b, index, lanes);
  }
  return foldLanes(b, foldVectors(b, std::move(sums)), lanes, index, left % lanes, terms);
}
