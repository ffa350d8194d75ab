// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Data movement and indexing with random places.
#include "test/RandomGraphs/RandomGraph.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

static bool makeBroadcastLike(Scope &s) {
  Value like = s.pickFloat(1);
  Value x = like ? s.pick([&](RankedTensorType type) {
    auto shape = broadcastShapes({type.getShape(), tensorTypeOf(like).getShape()});
    return type.getElementType().isF64() && succeeded(shape) &&
           ArrayRef<int64_t>(*shape) == tensorTypeOf(like).getShape();
  })
                 : Value();
  return x && s.make<BroadcastLikeOp>(x, like);
}

/// The static extents flattened, split or with ones between them.
static bool makeReshape(Scope &s) {
  Value x = s.pickFloat();
  if (!x)
    return false;
  Random &random = s.random();
  SmallVector<int64_t> shape;
  int64_t rest = 1;
  for (int64_t extent : tensorTypeOf(x).getShape())
    if (ShapedType::isDynamic(extent))
      shape.push_back(extent);
    else
      rest *= extent;
  for (int64_t parts = random.below(3); parts > 0; --parts) {
    const int64_t factor = random.between(1, 5);
    if (rest % factor == 0) {
      shape.push_back(factor);
      rest /= factor;
    }
  }
  if (rest > 1 || random.chance(0.3))
    shape.push_back(rest);
  return s.make<ReshapeOp>(tensorTypeOf(x).clone(shape), x);
}

static bool makeTranspose(Scope &s) {
  Value x = s.pickFloat(2);
  if (!x)
    return false;
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, tensorTypeOf(x).getRank()));
  const int64_t first = tensorTypeOf(x).isDynamicDim(0) ? 1 : 0;
  for (int64_t i = int64_t(permutation.size()) - 1; i > first; --i)
    std::swap(permutation[i], permutation[s.random().between(first, i)]);
  return s.make<TransposeOp>(x, permutation);
}

static bool makeConcatenate(Scope &s) {
  Value x = s.pickFloat(1);
  const int64_t axis = x ? s.pickStaticAxis(x) : -1;
  if (axis < 0)
    return false;
  SmallVector<Value> parts{x};
  for (int64_t more = s.random().between(1, 2); more > 0; --more)
    parts.push_back(s.pick([&](RankedTensorType type) {
      if (!type.getElementType().isF64() || type.getRank() != tensorTypeOf(x).getRank())
        return false;
      for (int64_t d = 0; d < type.getRank(); ++d)
        if (d != axis && type.getDimSize(d) != tensorTypeOf(x).getDimSize(d))
          return false;
      return true;
    }));
  return s.make<ConcatenateOp>(parts, axis);
}

static bool makeSlice(Scope &s) {
  Value x = s.pickFloat(1);
  const int64_t axis = x ? s.pickStaticAxis(x) : -1;
  if (axis < 0)
    return false;
  const int64_t extent = tensorTypeOf(x).getDimSize(axis), offset = s.random().below(extent);
  return s.make<SliceOp>(x, axis, offset, s.random().between(1, extent - offset));
}

static bool makePad(Scope &s) {
  Value x = s.pickFloat(1);
  const int64_t axis = x ? s.pickStaticAxis(x) : -1;
  if (axis < 0)
    return false;
  const int64_t low = s.random().below(3), high = s.random().below(3);
  return s.make<PadOp>(x, axis, low, high, llvm::APFloat(s.random().real(-1, 1)));
}

static bool makeReverse(Scope &s) {
  Value x = s.pickFloat(1);
  const int64_t axis = x ? s.pickStaticAxis(x) : -1;
  return axis >= 0 && s.make<ReverseOp>(x, axis);
}

/// Places from -extent to extent - 1, some of them twice.
static Value makePlaces(Scope &s, ArrayRef<int64_t> shape, int64_t extent) {
  SmallVector<int32_t> numbers;
  for (int64_t i = 0, count = ShapedType::getNumElements(shape); i < count; ++i)
    numbers.push_back(int32_t(s.random().between(-extent, extent - 1)));
  return s.constant(shape, numbers);
}

/// Along any axis at constant places, or rows of a new table at those of an integer input.
static bool makeGather(Scope &s) {
  Random &random = s.random();
  Value ids = s.pick([](RankedTensorType type) { return type.getElementType().isInteger(32); });
  if (ids && random.chance(0.5)) {
    SmallVector<int64_t> shape{random.between(3, 5)};
    if (random.chance(0.8))
      shape.push_back(random.between(1, 4));
    return s.make<GatherOp>(s.addVariable(shape), ids, int64_t(0), int64_t(0));
  }
  Value table = s.pickFloat(1);
  const int64_t axis = table ? s.pickStaticAxis(table) : -1;
  if (axis < 0)
    return false;
  SmallVector<int64_t> shape{random.between(1, 4)};
  if (random.chance(0.3))
    shape.push_back(2);
  return s.make<GatherOp>(table, makePlaces(s, shape, tensorTypeOf(table).getDimSize(axis)), axis,
                          int64_t(0));
}

/// Rows of the batch or of a constant list of places, added up in the shape of another tensor.
static bool makeScatterAdd(Scope &s) {
  Random &random = s.random();
  Value updates = s.pickFloat(1, 3);
  if (!updates)
    return false;
  auto type = tensorTypeOf(updates);
  SmallVector<int64_t> like(type.getShape());
  like[0] = random.between(2, 5);
  Value ids;
  if (type.isDynamicDim(0)) {
    ids = s.pick([&](RankedTensorType own) {
      return own.getElementType().isInteger(32) && own.getRank() <= type.getRank() &&
             own.getShape() == type.getShape().take_front(own.getRank());
    });
    if (!ids)
      return false;
    like.assign({random.between(2, 5)});
    llvm::append_range(like, type.getShape().drop_front(tensorTypeOf(ids).getRank()));
  } else {
    ids = makePlaces(s, {type.getDimSize(0)}, like[0]);
  }
  return s.make<ScatterAddOp>(ids, updates, s.addVariable(like), int64_t(0), int64_t(0));
}

void mpc::test::addMovementOps(OpMakers &makers) {
  makers[BroadcastLikeOp::getOperationName()] = makeBroadcastLike;
  makers[ReshapeOp::getOperationName()] = makeReshape;
  makers[TransposeOp::getOperationName()] = makeTranspose;
  makers[ConcatenateOp::getOperationName()] = makeConcatenate;
  makers[SliceOp::getOperationName()] = makeSlice;
  makers[PadOp::getOperationName()] = makePad;
  makers[ReverseOp::getOperationName()] = makeReverse;
  makers[GatherOp::getOperationName()] = makeGather;
  makers[ScatterAddOp::getOperationName()] = makeScatterAdd;
}
