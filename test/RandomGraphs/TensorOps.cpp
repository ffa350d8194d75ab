// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Contractions, reductions, softmax, normalisation, casts and random numbers with random
// attributes.
#include "test/RandomGraphs/RandomGraph.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

/// A random subset of the axes, in order and not empty.
static SmallVector<int64_t> someAxes(Random &random, int64_t rank) {
  SmallVector<int64_t> axes;
  for (int64_t d = 0; d < rank; ++d)
    if (random.chance(0.5))
      axes.push_back(d);
  if (axes.empty())
    axes.push_back(random.below(rank));
  return axes;
}

/// With a new matrix, or of two values that share extents.
static bool makeContract(Scope &s) {
  Value lhs = s.pickFloat(1, 4);
  if (!lhs)
    return false;
  Random &random = s.random();
  SmallVector<int64_t> lhsBatch, rhsBatch, lhsSum, rhsSum;
  if (random.chance(0.4)) {
    const int64_t axis = s.pickStaticAxis(lhs);
    if (axis < 0)
      return false;
    const int64_t extent = tensorTypeOf(lhs).getDimSize(axis);
    SmallVector<int64_t> shape{extent, random.between(1, 4)};
    const bool isTransposed = random.chance(0.3);
    if (isTransposed)
      std::swap(shape[0], shape[1]);
    return s.make<ContractOp>(lhs, s.addVariable(shape), lhsBatch, rhsBatch,
                              ArrayRef<int64_t>{axis}, ArrayRef<int64_t>{isTransposed ? 1 : 0});
  }
  Value rhs = s.pickFloat(1, 4);
  SmallVector<bool> taken(tensorTypeOf(rhs).getRank());
  for (int64_t i = 0; i < tensorTypeOf(lhs).getRank(); ++i)
    for (int64_t j = 0; j < tensorTypeOf(rhs).getRank(); ++j) {
      if (taken[j] || tensorTypeOf(lhs).getDimSize(i) != tensorTypeOf(rhs).getDimSize(j))
        continue;
      const int64_t use = random.below(3);
      if (use == 2)
        continue;
      (use ? lhsBatch : lhsSum).push_back(i);
      (use ? rhsBatch : rhsSum).push_back(j);
      taken[j] = true;
      break;
    }
  return s.make<ContractOp>(lhs, rhs, lhsBatch, rhsBatch, lhsSum, rhsSum);
}

static bool makeReduce(Scope &s) {
  Value x = s.pickFloat(1);
  if (!x)
    return false;
  const ReduceKind kinds[] = {ReduceKind::Sum, ReduceKind::Mean, ReduceKind::Max, ReduceKind::Min};
  const ReduceKind kind = kinds[s.random().below(4)];
  SmallVector<int64_t> axes = someAxes(s.random(), tensorTypeOf(x).getRank());
  return s.make<ReduceOp>(kind, x, axes, s.random().chance(0.5));
}

static bool makeMoments(Scope &s) {
  Value x = s.pickFloat(1);
  if (!x)
    return false;
  SmallVector<int64_t> axes = someAxes(s.random(), tensorTypeOf(x).getRank());
  return s.make<MomentsOp>(x, axes, s.random().chance(0.5));
}

template <typename Op> static bool makeSoftmax(Scope &s) {
  Value x = s.pickFloat(1);
  const int64_t axis = x ? s.pickStaticAxis(x) : -1;
  return axis >= 0 && s.make<Op>(x, axis);
}

/// Targets get no derivative, so they come from nothing that varies: one class for each row.
static bool makeCrossEntropy(Scope &s) {
  Value x = s.pickFloat(2, 3);
  if (!x || tensorTypeOf(x).isDynamicDim(tensorTypeOf(x).getRank() - 1))
    return false;
  auto type = tensorTypeOf(x);
  const int64_t classes = type.getShape().back();
  SmallVector<double> rows(classes, 0.0);
  double sum = 0;
  for (double &row : rows)
    sum += row = s.random().real(0.1, 1);
  for (double &row : rows)
    row /= sum;
  Value row = ConstantOp::create(
      s.builder, s.loc(),
      cast<ElementsAttr>(DenseElementsAttr::get(
          RankedTensorType::get({classes}, s.builder.getF64Type()), ArrayRef(rows))));
  if (!s.accept(row.getDefiningOp()))
    return false;
  s.pool.pop_back();
  if (!s.make<BroadcastLikeOp>(row, x))
    return false;
  Value target = s.pool.back();
  s.pool.pop_back();
  return s.make<SoftmaxCrossEntropyOp>(x, target);
}

/// To integers and back, or to the same type; neither rounds what differences look at.
static bool makeCast(Scope &s) {
  Value x = s.pickFloat();
  if (!x)
    return false;
  if (s.random().chance(0.5))
    return s.make<CastOp>(x.getType(), x);
  Value whole;
  if (!s.make<CastOp>(tensorTypeOf(x).clone(s.builder.getI32Type()), x))
    return false;
  whole = s.pool.back();
  return s.make<CastOp>(x.getType(), whole);
}

static bool makeInTraining(Scope &s) {
  Value x = s.pickFloat();
  Value y = x ? s.pick([&](RankedTensorType type) { return type == x.getType(); }) : Value();
  return y && s.make<InTrainingOp>(x, y);
}

static Value makeState(Scope &s) {
  auto type = RankedTensorType::get({2}, s.builder.getI64Type());
  const int64_t numbers[] = {int64_t(s.random().next()), s.random().below(100)};
  Value state = ConstantOp::create(
      s.builder, s.loc(),
      cast<ElementsAttr>(DenseElementsAttr::get(type, ArrayRef<int64_t>(numbers))));
  if (!s.accept(state.getDefiningOp()))
    return {};
  s.pool.pop_back();
  return state;
}

static bool makeDropout(Scope &s) {
  Value x = s.pickFloat(1);
  Value state = x ? makeState(s) : Value();
  if (!state)
    return false;
  DenseI64ArrayAttr noise;
  if (s.random().chance(0.5)) {
    SmallVector<int64_t> shape;
    for (int64_t extent : tensorTypeOf(x).getShape())
      shape.push_back(s.random().chance(0.3) ? 1 : ShapedType::isDynamic(extent) ? -1 : extent);
    noise = s.builder.getDenseI64ArrayAttr(shape);
  }
  return s.make<DropoutOp>(x.getType(), x, state,
                           s.builder.getF64FloatAttr(s.random().real(0.1, 0.7)),
                           s.builder.getI64IntegerAttr(s.random().below(9)), noise);
}

static bool makeNoise(Scope &s) {
  Value x = s.pickFloat(1);
  Value state = x ? makeState(s) : Value();
  return state && s.make<NormalNoiseOp>(x, state, s.builder.getF64FloatAttr(s.random().real(-1, 1)),
                                        s.builder.getF64FloatAttr(s.random().real(0.1, 1)),
                                        s.builder.getI64IntegerAttr(s.random().below(9)));
}

static bool makeUniformNoise(Scope &s) {
  Value x = s.pickFloat(1);
  Value state = x ? makeState(s) : Value();
  const double low = s.random().real(-1, 1);
  return state && s.make<UniformNoiseOp>(x, state, s.builder.getF64FloatAttr(low),
                                         s.builder.getF64FloatAttr(low + s.random().real(0, 1)),
                                         s.builder.getI64IntegerAttr(s.random().below(9)));
}

void mpc::test::addTensorOps(OpMakers &makers) {
  makers[ContractOp::getOperationName()] = makeContract;
  makers[ReduceOp::getOperationName()] = makeReduce;
  makers[MomentsOp::getOperationName()] = makeMoments;
  makers[SoftmaxOp::getOperationName()] = makeSoftmax<SoftmaxOp>;
  makers[LogSoftmaxOp::getOperationName()] = makeSoftmax<LogSoftmaxOp>;
  makers[SoftmaxCrossEntropyOp::getOperationName()] = makeCrossEntropy;
  makers[CastOp::getOperationName()] = makeCast;
  makers[InTrainingOp::getOperationName()] = makeInTraining;
  makers[DropoutOp::getOperationName()] = makeDropout;
  makers[NormalNoiseOp::getOperationName()] = makeNoise;
  makers[UniformNoiseOp::getOperationName()] = makeUniformNoise;
}
