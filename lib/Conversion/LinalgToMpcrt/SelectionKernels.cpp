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
  void storePlace(Scalars &s, Value number, Value buffer, Value place) const {
    s.store(s.castIndex(number, s.builder.getI32Type()), buffer, at(place));
  }
  /// Writes to `left` the boxes that may be chosen; how many they are.
  Value findCandidates(Scalars &s) const;
  /// Whether box `a` is chosen before `b`: the better score, or the earlier one of equal scores.
  Value isBefore(Scalars &s, Value a, Value b) const;
  /// Makes a heap of the first `count` of `left`, which is one below `root` already: no box comes
  /// before the one at half of its place.
  void siftDown(Scalars &s, Value root, Value count) const;
  /// Takes the first box out of the heap.
  Value takeBest(Scalars &s, Value count) const;
  /// Whether the box shares too much with one of the first `chosen` of `picks`.
  Value isSuppressed(Scalars &s, Value number, Value chosen) const;
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

Value BoxSelection::isBefore(Scalars &s, Value a, Value b) const {
  Value scoreA = s.loadWide(scores, at(a), wide), scoreB = s.loadWide(scores, at(b), wide);
  // NaN is worse than any number.
  auto isBetter = [&](Value one, Value other) {
    Value replacesNaN = s.both(s.compare(FloatPredicate::UNO, other, other),
                               s.compare(FloatPredicate::ORD, one, one));
    return s.either(s.compare(FloatPredicate::OGT, one, other), replacesNaN);
  };
  Value isEarlier = s.compare(arith::CmpIPredicate::ult, a, b),
        no = s.number(s.builder.getI1Type(), 0);
  return s.either(isBetter(scoreA, scoreB), s.select(isBetter(scoreB, scoreA), no, isEarlier));
}

void BoxSelection::siftDown(Scalars &s, Value root, Value count) const {
  const int64_t most = cast<MemRefType>(left.getType()).getDimSize(2);
  Value levels = s.index(llvm::Log2_64_Ceil(uint64_t(most) + 1));
  s.repeat(s.index(0), levels, {root}, [&](Scalars in, Value, ValueRange carried) {
    Value place = carried[0], one = in.index(1);
    Value child = in.add(in.add(place, place), one);
    auto branch = scf::IfOp::create(in.builder, in.loc, TypeRange(in.builder.getIndexType()),
                                    in.compare(arith::CmpIPredicate::ult, child, count),
                                    /*withElseRegion=*/true);
    Scalars then{branch.getThenBodyBuilder(), in.loc}, none{branch.getElseBodyBuilder(), in.loc};
    Value next = then.add(child, one);
    Value sibling = then.select(then.compare(arith::CmpIPredicate::ult, next, count), next, child);
    Value better = then.select(isBefore(then, loadPlace(then, sibling), loadPlace(then, child)),
                               sibling, child);
    Value above = loadPlace(then, place), below = loadPlace(then, better);
    Value rises = isBefore(then, below, above);
    storePlace(then, then.select(rises, below, above), left, place);
    storePlace(then, then.select(rises, above, below), left, better);
    // Behind the last place nothing is left to do.
    scf::YieldOp::create(then.builder, then.loc, then.select(rises, better, count));
    scf::YieldOp::create(none.builder, none.loc, count);
    return SmallVector<Value>{branch.getResult(0)};
  });
}

Value BoxSelection::takeBest(Scalars &s, Value count) const {
  Value first = s.index(0), best = loadPlace(s, first);
  Value others = arith::SubIOp::create(s.builder, s.loc, count, s.index(1));
  storePlace(s, loadPlace(s, others), left, first);
  siftDown(s, first, others);
  return best;
}

Value BoxSelection::isSuppressed(Scalars &s, Value number, Value chosen) const {
  const Box box = loadBox(s, number);
  Value no = s.number(s.builder.getI1Type(), 0);
  return s.repeat(s.index(0), chosen, {no}, [&](Scalars in, Value j, ValueRange is) {
    Value other = in.castIndex(in.load(picks, at(j)), in.builder.getIndexType());
    return SmallVector<Value>{in.either(is[0], sharesTooMuch(in, loadBox(in, other), box))};
  })[0];
}

void BoxSelection::emit(Scalars &s) const {
  Value limit = s.index(cast<MemRefType>(picks.getType()).getDimSize(2)), zero = s.index(0);
  Value candidates = findCandidates(s);
  Value half = arith::DivUIOp::create(s.builder, s.loc, candidates, s.index(2));
  s.repeat(zero, half, {}, [&](Scalars in, Value i, ValueRange) {
    Value from = arith::SubIOp::create(in.builder, in.loc, half, in.index(1));
    siftDown(in, arith::SubIOp::create(in.builder, in.loc, from, i), candidates);
    return SmallVector<Value>();
  });
  Value chosen = s.repeat(zero, candidates, {zero}, [&](Scalars in, Value i, ValueRange number) {
    auto branch = scf::IfOp::create(in.builder, in.loc, TypeRange(in.builder.getIndexType()),
                                    in.compare(arith::CmpIPredicate::ult, number[0], limit),
                                    /*withElseRegion=*/true);
    Scalars then{branch.getThenBodyBuilder(), in.loc};
    Value count = arith::SubIOp::create(then.builder, then.loc, candidates, i);
    Value best = takeBest(then, count);
    Value no = then.number(then.builder.getI1Type(), 0),
          yes = then.number(then.builder.getI1Type(), 1);
    Value stays = then.select(isSuppressed(then, best, number[0]), no, yes);
    // One that does not stay is overwritten by what comes next.
    storePlace(then, best, picks, number[0]);
    scf::YieldOp::create(then.builder, then.loc, then.countIf(number[0], stays));
    OpBuilder none = branch.getElseBodyBuilder();
    scf::YieldOp::create(none, in.loc, number[0]);
    return SmallVector<Value>{branch.getResult(0)};
  })[0];
  s.repeat(chosen, limit, {}, [&](Scalars in, Value k, ValueRange) {
    in.store(in.number(in.builder.getI32Type(), -1), picks, at(k));
    return SmallVector<Value>();
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
