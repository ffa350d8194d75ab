// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loops of mpcrt.compact and mpcrt.select_boxes. A number that the loop carries says how many
// there are so far; what is kept is written where that number says, in place.
#include "lib/Conversion/LinalgToMpcrt/SelectionKernels.h"
#include "lib/Conversion/LinalgToMpcrt/OpKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mpc/Analysis/BatchExtent.h"

using namespace mlir;
using namespace mpc;

using FloatPredicate = arith::CmpFPredicate;

namespace {
/// Scalars at one place of a kernel.
struct Scalars {
  OpBuilder builder;
  Location loc;

  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value number(Type type, int64_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, value));
  }
  Value load(Value buffer, ValueRange at) {
    return memref::LoadOp::create(builder, loc, buffer, at);
  }
  void store(Value value, Value buffer, ValueRange at) {
    memref::StoreOp::create(builder, loc, value, buffer, at);
  }
  /// A floating element in `wide`.
  Value loadWide(Value buffer, ValueRange at, Type wide) {
    Value value = load(buffer, at);
    return value.getType() == wide ? value : arith::ExtFOp::create(builder, loc, wide, value);
  }
  Value add(Value a, Value b) { return arith::AddIOp::create(builder, loc, a, b); }
  /// One more where `condition` holds.
  Value countIf(Value number, Value condition) {
    Value one = arith::ExtUIOp::create(builder, loc, builder.getI64Type(), condition);
    return add(number, arith::IndexCastOp::create(builder, loc, builder.getIndexType(), one));
  }
  Value castIndex(Value value, Type type) {
    return arith::IndexCastOp::create(builder, loc, type, value);
  }
  Value both(Value a, Value b) { return arith::AndIOp::create(builder, loc, a, b); }
  Value either(Value a, Value b) { return arith::OrIOp::create(builder, loc, a, b); }
  Value compare(FloatPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  Value subtract(Value a, Value b) { return arith::SubFOp::create(builder, loc, a, b); }
  Value sum(Value a, Value b) { return arith::AddFOp::create(builder, loc, a, b); }
  Value multiply(Value a, Value b) { return arith::MulFOp::create(builder, loc, a, b); }
  Value divide(Value a, Value b) { return arith::DivFOp::create(builder, loc, a, b); }
  /// A loop from `begin` up to `end`; `body` gives what the next iteration carries.
  SmallVector<Value>
  repeat(Value begin, Value end, ArrayRef<Value> carried,
         llvm::function_ref<SmallVector<Value>(Scalars, Value, ValueRange)> body) {
    auto loop = scf::ForOp::create(builder, loc, begin, end, index(1), carried);
    Scalars inside{OpBuilder::atBlockBegin(loop.getBody()), loc};
    SmallVector<Value> next = body(inside, loop.getInductionVar(), loop.getRegionIterArgs());
    if (!carried.empty()) {
      OpBuilder last = OpBuilder::atBlockEnd(loop.getBody());
      scf::YieldOp::create(last, loc, next);
    }
    return SmallVector<Value>(loop.getResults());
  }
};

/// Two corners of a box, and its area.
struct Box {
  Value low[2], high[2], area;
};

/// Non-maximum suppression of one class of one sample.
struct BoxSelection {
  Value boxes, scores, picks, left;
  Value overlap, least; ///< numbers; `least` may be null
  bool isCentered;
  Type wide;
  Value sample, kind;

  SmallVector<Value> at(Value place) const { return {sample, kind, place}; }
  Value loadPlace(Scalars &s, Value place) const {
    return s.castIndex(s.load(left, at(place)), s.builder.getIndexType());
  }
  Box loadBox(Scalars &s, Value number) const;
  Value sharesTooMuch(Scalars &s, const Box &a, const Box &b) const;
  /// Writes to `left` the boxes that may be chosen; how many they are.
  Value findCandidates(Scalars &s) const;
  /// The best of the first `count` of `left`.
  Value findBest(Scalars &s, Value count) const;
  /// Leaves those of the first `count` of `left` that are not `best` and do not share too much with
  /// it; how many they are.
  Value keepOthers(Scalars &s, Value count, Value best) const;
  void emit(Scalars &s) const;
};
} // namespace

Box BoxSelection::loadBox(Scalars &s, Value number) const {
  Value numbers[4];
  for (int64_t i = 0; i < 4; ++i)
    numbers[i] = s.loadWide(boxes, {sample, number, s.index(i)}, wide);
  Box box;
  Value half = arith::ConstantOp::create(s.builder, s.loc, s.builder.getFloatAttr(wide, 0.5));
  for (unsigned d = 0; d < 2; ++d) {
    if (isCentered) {
      Value reach = s.multiply(numbers[2 + d], half);
      box.low[d] = s.subtract(numbers[d], reach);
      box.high[d] = s.sum(numbers[d], reach);
      continue;
    }
    Value isFirstHigh = s.compare(FloatPredicate::OGE, numbers[d], numbers[2 + d]);
    box.low[d] = s.select(isFirstHigh, numbers[2 + d], numbers[d]);
    box.high[d] = s.select(isFirstHigh, numbers[d], numbers[2 + d]);
  }
  box.area = s.multiply(s.subtract(box.high[0], box.low[0]), s.subtract(box.high[1], box.low[1]));
  return box;
}

Value BoxSelection::sharesTooMuch(Scalars &s, const Box &a, const Box &b) const {
  Value zero = arith::ConstantOp::create(s.builder, s.loc, s.builder.getFloatAttr(wide, 0.0));
  Value holds, extents[2];
  auto require = [&](Value larger, Value smaller) {
    Value is = s.compare(FloatPredicate::OGT, larger, smaller);
    holds = holds ? s.both(holds, is) : is;
  };
  for (unsigned d = 0; d < 2; ++d) {
    Value low = s.select(s.compare(FloatPredicate::OLT, a.low[d], b.low[d]), b.low[d], a.low[d]);
    Value high =
        s.select(s.compare(FloatPredicate::OLT, b.high[d], a.high[d]), b.high[d], a.high[d]);
    require(high, low);
    extents[d] = s.subtract(high, low);
  }
  Value shared = s.multiply(extents[0], extents[1]);
  Value united = s.subtract(s.sum(a.area, b.area), shared);
  for (Value area : {shared, a.area, b.area, united})
    require(area, zero);
  require(s.divide(shared, united), overlap);
  return holds;
}

Value BoxSelection::findCandidates(Scalars &s) const {
  Value count = s.index(cast<MemRefType>(scores.getType()).getDimSize(2));
  return s.repeat(s.index(0), count, {s.index(0)}, [&](Scalars in, Value i, ValueRange found) {
    in.store(in.castIndex(i, in.builder.getI32Type()), left, at(found[0]));
    if (!least)
      return SmallVector<Value>{in.add(found[0], in.index(1))};
    Value score = in.loadWide(scores, at(i), wide);
    return SmallVector<Value>{in.countIf(found[0], in.compare(FloatPredicate::OGT, score, least))};
  })[0];
}

Value BoxSelection::findBest(Scalars &s, Value count) const {
  Value first = loadPlace(s, s.index(0));
  Value score = s.loadWide(scores, at(first), wide);
  return s.repeat(s.index(1), count, {score, first}, [&](Scalars in, Value j, ValueRange best) {
    Value number = loadPlace(in, j), own = in.loadWide(scores, at(number), wide);
    // NaN is worse than any number.
    Value replacesNaN = in.both(in.compare(FloatPredicate::UNO, best[0], best[0]),
                                in.compare(FloatPredicate::ORD, own, own));
    Value isBetter = in.either(in.compare(FloatPredicate::OGT, own, best[0]), replacesNaN);
    return SmallVector<Value>{in.select(isBetter, own, best[0]),
                              in.select(isBetter, number, best[1])};
  })[1];
}

Value BoxSelection::keepOthers(Scalars &s, Value count, Value best) const {
  const Box chosen = loadBox(s, best);
  return s.repeat(s.index(0), count, {s.index(0)}, [&](Scalars in, Value j, ValueRange kept) {
    Value number = loadPlace(in, j);
    in.store(in.castIndex(number, in.builder.getI32Type()), left, at(kept[0]));
    Value goes = in.either(in.compare(arith::CmpIPredicate::eq, number, best),
                           sharesTooMuch(in, chosen, loadBox(in, number)));
    Value stays =
        in.select(goes, in.number(in.builder.getI1Type(), 0), in.number(in.builder.getI1Type(), 1));
    return SmallVector<Value>{in.countIf(kept[0], stays)};
  })[0];
}

void BoxSelection::emit(Scalars &s) const {
  Value limit = s.index(cast<MemRefType>(picks.getType()).getDimSize(2));
  Value candidates = findCandidates(s);
  s.repeat(s.index(0), limit, {candidates}, [&](Scalars in, Value k, ValueRange count) {
    Value areSome = in.compare(arith::CmpIPredicate::ugt, count[0], in.index(0));
    auto branch = scf::IfOp::create(in.builder, in.loc, TypeRange(in.builder.getIndexType()),
                                    areSome, /*withElseRegion=*/true);
    Scalars then{branch.getThenBodyBuilder(), in.loc}, none{branch.getElseBodyBuilder(), in.loc};
    Value best = findBest(then, count[0]);
    then.store(then.castIndex(best, then.builder.getI32Type()), picks, at(k));
    scf::YieldOp::create(then.builder, then.loc, keepOthers(then, count[0], best));
    none.store(none.number(none.builder.getI32Type(), -1), picks, at(k));
    scf::YieldOp::create(none.builder, none.loc, none.index(0));
    return SmallVector<Value>{branch.getResult(0)};
  });
}

static LogicalResult outline(func::FuncOp entry, mpcrt::SelectBoxesOp op) {
  Location loc = op.getLoc();
  auto samples = getExtent(op.getPicks(), 0);
  const int64_t kinds = cast<MemRefType>(op.getPicks().getType()).getDimSize(1);
  if (!samples)
    return op.emitOpError("has an extent that is no function of the batch");
  auto element = [](Value buffer) { return cast<MemRefType>(buffer.getType()).getElementType(); };
  OpKernel kernel(entry, op, "select_boxes");
  Scalars s{kernel.builder, loc};
  const bool hasLeast = bool(op.getLeast());
  Type wide = s.builder.getF32Type();
  for (Value operand : ValueRange(op.getOperands()).drop_back(2))
    if (element(operand).isF64())
      wide = s.builder.getF64Type();
  Value overlap = s.loadWide(kernel.operands[2], {}, wide),
        least = hasLeast ? s.loadWide(kernel.operands[3], {}, wide) : Value();
  s.repeat(kernel.begin, kernel.end, {}, [&](Scalars in, Value number, ValueRange) {
    Value count = in.index(kinds);
    BoxSelection selection{kernel.operands[0],
                           kernel.operands[1],
                           kernel.operands[hasLeast ? 4 : 3],
                           kernel.operands[hasLeast ? 5 : 4],
                           overlap,
                           least,
                           op.getCentered(),
                           wide,
                           arith::DivUIOp::create(in.builder, loc, number, count),
                           arith::RemUIOp::create(in.builder, loc, number, count)};
    selection.emit(in);
    return SmallVector<Value>();
  });
  OpBuilder host(op);
  Value count =
      arith::MulIOp::create(host, loc, materialize(host, loc, *samples, getBatchArgument(entry)),
                            arith::ConstantIndexOp::create(host, loc, kinds));
  kernel.launch(op, count, "classes");
  return success();
}

static LogicalResult outline(func::FuncOp entry, mpcrt::CompactOp op) {
  OpKernel kernel(entry, op, "compact");
  Scalars s{kernel.builder, op.getLoc()};
  Value mask = kernel.operands[0], places = kernel.operands[1], count = kernel.operands[2];
  const Type i64 = s.builder.getI64Type();
  Value all = s.index(cast<MemRefType>(mask.getType()).getDimSize(0));
  // One iteration, whatever the launch says.
  s.repeat(kernel.begin, kernel.end, {}, [&](Scalars in, Value, ValueRange) {
    Value found =
        in.repeat(in.index(0), all, {in.index(0)}, [&](Scalars at, Value i, ValueRange number) {
          at.store(at.castIndex(i, i64), places, number[0]);
          return SmallVector<Value>{at.countIf(number[0], at.load(mask, i))};
        })[0];
    in.repeat(found, all, {}, [&](Scalars at, Value i, ValueRange) {
      at.store(at.number(i64, 0), places, i);
      return SmallVector<Value>();
    });
    in.store(in.castIndex(found, i64), count, {});
    return SmallVector<Value>();
  });
  OpBuilder host(op);
  kernel.launch(op, arith::ConstantIndexOp::create(host, op.getLoc(), 1), "none");
  return success();
}

LogicalResult mpc::outlineSelection(func::FuncOp entry, Operation *op) {
  if (auto compact = dyn_cast<mpcrt::CompactOp>(op))
    return outline(entry, compact);
  return outline(entry, cast<mpcrt::SelectBoxesOp>(op));
}
