// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients of pools: the index of each window's maximum is found once, then every element gathers
// from the few windows that it is in.
#include "lib/Conversion/MpcToLinalg/Generic.h"
#include "lib/Conversion/MpcToLinalg/PoolBuilder.h"
#include "lib/Conversion/MpcToLinalg/Scalar.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mpc;

Value PoolBuilder::meanGradient(Value cotangent, const PoolWindow &window, Type element) {
  SmallVector<int64_t> candidates = window.extents(&PoolAxis::mostWindows);
  if (cappedProduct(candidates) > kMostUnrolled && window.axes.size() > 1) {
    SmallVector<PoolWindow> parts = separate(window);
    for (const PoolWindow &part : ArrayRef(parts).drop_back())
      cotangent = meanGradient(cotangent, part, widerOf32(element));
    return meanGradient(cotangent, parts.back(), element);
  }
  // The share of an element in the window that the candidates choose.
  auto shareOf = [&](PoolReader &r, ArrayRef<Value> candidate) {
    SmallVector<GuardedIndex> guarded;
    SmallVector<Value> indices;
    for (auto [dimension, axis, number] :
         llvm::zip_equal(window.dimensions, window.axes, candidate)) {
      guarded.push_back(windowOfElement(r.math, axis, r.loopIndex(dimension), number));
      indices.push_back(guarded.back().index);
    }
    Value dy = widen(r.builder, r.loc, r.read(cotangent, window.dimensions, guarded));
    Value share =
        arith::DivFOp::create(r.builder, r.loc, dy, r.count(window, indices, dy.getType()));
    return r.select(r.counts(guarded), share, r.number(dy.getType(), 0));
  };
  return gather(cotangent, window, element, candidates, shareOf);
}

/// The sum of what `shareOf` gives for each window that an element may be in.
Value PoolBuilder::gather(Value cotangent, const PoolWindow &window, Type element,
                          ArrayRef<int64_t> candidates,
                          llvm::function_ref<Value(PoolReader &, ArrayRef<Value>)> shareOf) {
  RankedTensorType type = resized(cotangent, window, /*toOutputs=*/false, element);
  int64_t count = cappedProduct(candidates);
  if (count > kMostUnrolledAlongAxis) {
    Type wide = widerOf32(element);
    Value zero = scalarOf(builder, loc, wide, 0);
    Value total =
        buildLoop(type.clone(wide), cotangent, count, zero,
                  [&](PoolReader &r, Value tap, ValueRange partial) {
                    SmallVector<Value> numbers(candidates.size());
                    for (size_t i = candidates.size(); i-- > 0;) {
                      Value rest = r.math.divide(tap, candidates[i]);
                      numbers[i] = r.math.subtract(tap, r.math.multiply(rest, candidates[i]));
                      tap = rest;
                    }
                    return SmallVector<Value>{
                        arith::AddFOp::create(r.builder, r.loc, partial[0], shareOf(r, numbers))};
                  })[0];
    return finish(total, nullptr, element);
  }
  return build(type, cotangent, [&](PoolReader &r) {
    // Without a window (a stride beyond it) no element has a cotangent.
    Value total = count == 0 ? r.number(widerOf32(element), 0) : Value();
    if (count > 0)
      forEachIndex(candidates, [&](ArrayRef<int64_t> candidate) {
        SmallVector<Value> numbers;
        for (int64_t number : candidate)
          numbers.push_back(r.math.constant(number));
        Value share = shareOf(r, numbers);
        total = total ? Value(arith::AddFOp::create(r.builder, r.loc, total, share)) : share;
      });
    return SmallVector<Value>{roundTo(r.builder, r.loc, total, element)};
  })[0];
}

/// The largest element of each window along `window`, and the row-major index of it (i32) among the
/// elements of a sample's spatial dimensions; `inputIndices` holds such indices for `input`, null
/// when these are the elements themselves.
std::pair<Value, Value> PoolBuilder::firstLargest(Value input, Value inputIndices,
                                                  const PoolWindow &window) {
  auto inputType = tensorTypeOf(input);
  int64_t rank = inputType.getRank();
  Type narrow = inputType.getElementType(), i32 = builder.getI32Type();
  RankedTensorType valueType = resized(input, window, /*toOutputs=*/true, narrow);
  // The row-major index of the element at `guarded`.
  auto indexOf = [&](PoolReader &r, ArrayRef<GuardedIndex> guarded) -> Value {
    if (inputIndices)
      return r.read(inputIndices, window.dimensions, guarded);
    Value linear;
    for (int64_t d = 1; d + 1 < rank; ++d) {
      Value index = r.loopIndex(d);
      for (auto [dimension, guard] : llvm::zip_equal(window.dimensions, guarded))
        if (dimension == d)
          index = guard.index;
      linear = linear ? r.math.add(r.math.multiply(linear, inputType.getDimSize(d)), index) : index;
    }
    return arith::IndexCastOp::create(r.builder, r.loc, i32, linear);
  };
  // Whether x comes before `best`: larger, or NaN; after a NaN nothing does.
  auto isLarger = [&](PoolReader &r, Value x, Value best) {
    auto compare = [&](arith::CmpFPredicate predicate, Value a, Value b) -> Value {
      return arith::CmpFOp::create(r.builder, r.loc, predicate, a, b);
    };
    return r.math.both(compare(arith::CmpFPredicate::UGT, x, best),
                       compare(arith::CmpFPredicate::ORD, best, best));
  };
  SmallVector<int64_t> elements = window.extents(&PoolAxis::mostElements);
  SmallVector<RankedTensorType> types{valueType, valueType.clone(i32)};
  SmallVector<Value> results;
  if (cappedProduct(elements) > kMostUnrolledAlongAxis && window.axes.size() == 1) {
    SmallVector<Value> starts{
        scalarOf(builder, loc, narrow, -kInfinity),
        arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(-1))};
    results = buildLoop(
        types, input, elements[0], starts, [&](PoolReader &r, Value tap, ValueRange partial) {
          GuardedIndex guarded = elementOfWindow(r.math, window.axes.front(),
                                                 r.loopIndex(window.dimensions.front()), tap);
          Value x = widen(r.builder, r.loc, r.read(input, window.dimensions, guarded));
          Value best = widen(r.builder, r.loc, partial[0]);
          Value none = arith::CmpIOp::create(
              r.builder, r.loc, arith::CmpIPredicate::slt, partial[1],
              arith::ConstantOp::create(r.builder, r.loc, r.builder.getI32IntegerAttr(0)));
          Value takes = arith::OrIOp::create(r.builder, r.loc, isLarger(r, x, best), none);
          takes = r.math.both(takes, guarded.counts);
          best = r.select(takes, x, best);
          return SmallVector<Value>{roundTo(r.builder, r.loc, best, narrow),
                                    r.select(takes, indexOf(r, guarded), partial[1])};
        });
    return {results[0], results[1]};
  }
  results = build(types, input, [&](PoolReader &r) {
    Value best, bestIndex;
    forEachIndex(elements, [&](ArrayRef<int64_t> tap) {
      SmallVector<GuardedIndex> guarded;
      for (auto [dimension, axis, offset] : llvm::zip_equal(window.dimensions, window.axes, tap))
        guarded.push_back(elementOfWindow(r.math, axis, r.loopIndex(dimension), offset));
      Value x = widen(r.builder, r.loc, r.read(input, window.dimensions, guarded));
      Value index = indexOf(r, guarded), counts = r.counts(guarded);
      if (!best) {
        best = r.select(counts, x, r.number(x.getType(), -kInfinity));
        bestIndex = index; // clamped: the first element that counts
        return;
      }
      Value takes = r.math.both(isLarger(r, x, best), counts);
      best = r.select(takes, x, best);
      bestIndex = r.select(takes, index, bestIndex);
    });
    return SmallVector<Value>{roundTo(r.builder, r.loc, best, narrow), bestIndex};
  });
  return {results[0], results[1]};
}

Value PoolBuilder::maxGradient(Value cotangent, Value input, const PoolWindow &window,
                               Type element) {
  Value inputIndices;
  if (cappedProduct(window.extents(&PoolAxis::mostElements)) > kMostUnrolled)
    // Rows first: the first largest row holds the first largest element.
    for (const PoolWindow &part : separate(window))
      std::tie(input, inputIndices) = firstLargest(input, inputIndices, part);
  else
    std::tie(input, inputIndices) = firstLargest(input, inputIndices, window);

  auto shareOf = [&](PoolReader &r, ArrayRef<Value> candidate) {
    SmallVector<GuardedIndex> windows;
    Value linear;
    for (auto [dimension, axis, number] :
         llvm::zip_equal(window.dimensions, window.axes, candidate)) {
      Value at = r.loopIndex(dimension);
      windows.push_back(windowOfElement(r.math, axis, at, number));
      linear = linear ? r.math.add(r.math.multiply(linear, axis.extent), at) : at;
    }
    Value own = arith::IndexCastOp::create(r.builder, r.loc, r.builder.getI32Type(), linear);
    Value dy = widen(r.builder, r.loc, r.read(cotangent, window.dimensions, windows));
    Value chosen = r.read(inputIndices, window.dimensions, windows);
    Value isOwn = arith::CmpIOp::create(r.builder, r.loc, arith::CmpIPredicate::eq, chosen, own);
    return r.select(r.math.both(isOwn, r.counts(windows)), dy, r.number(dy.getType(), 0));
  };
  return gather(cotangent, window, element, window.extents(&PoolAxis::mostWindows), shareOf);
}
