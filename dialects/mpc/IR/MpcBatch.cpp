// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the samples of a batch meet: ops that sum over them, with samples on several ranks.
#include "dialects/mpc/IR/Mpc.h"

using namespace mlir;
using namespace mpc;

/// Whether the first dimension is the batch, whose extent only a call knows.
static bool hasBatch(Value value) {
  auto type = tensorTypeOf(value);
  return type.getRank() > 0 && type.isDynamicDim(0);
}

namespace {
/// Builds what an op computes of the samples of all ranks.
struct OverRanks {
  OverRanks(OpBuilder &builder, Operation *op) : builder(builder), loc(op->getLoc()) {}

  Value cast(Value value, Type element) {
    auto type = tensorTypeOf(value);
    return type.getElementType() == element
               ? value
               : Value(CastOp::create(builder, loc, type.clone(element), value));
  }
  /// `value` in the type that sums are in.
  Value widen(Value value) { return cast(value, widerOf32(elementTypeOf(value))); }
  Value reduce(Value value, ReduceKind kind = ReduceKind::Sum) {
    return AllReduceOp::create(builder, loc, kind, value, /*before=*/false);
  }
  /// The sum over `axes`, and over ranks.
  Value sum(Value value, ArrayRef<int64_t> axes, bool keepDims) {
    return reduce(ReduceOp::create(builder, loc, ReduceKind::Sum, value, axes, keepDims));
  }
  Value mean(Value value, ArrayRef<int64_t> axes, bool keepDims) {
    Value count = reduce(countElements(builder, loc, value, axes));
    return DivideOp::create(builder, loc, sum(value, axes, keepDims), count);
  }

  OpBuilder &builder;
  Location loc;
};
} // namespace

LogicalResult ReduceOp::buildOverRanks(OpBuilder &builder, SmallVectorImpl<Value> &results) {
  OverRanks ranks(builder, *this);
  Type element = elementTypeOf(getResult());
  switch (getKind()) {
  case ReduceKind::Sum:
  case ReduceKind::Mean: {
    Value input = isa<FloatType>(element) ? ranks.widen(getInput()) : getInput();
    if (!isa<FloatType>(element) && !element.isInteger(32) && !element.isInteger(64))
      return failure();
    Value all = getKind() == ReduceKind::Sum ? ranks.sum(input, getAxes(), getKeepDims())
                                             : ranks.mean(input, getAxes(), getKeepDims());
    results.push_back(ranks.cast(all, element));
    return success();
  }
  case ReduceKind::Max:
  case ReduceKind::Min: {
    Value own =
        ReduceOp::create(builder, getLoc(), getKind(), getInput(), getAxes(), getKeepDims());
    if (isa<FloatType>(element))
      own = ranks.widen(own); // exact, and back
    else if (!element.isInteger(32) && !element.isInteger(64))
      return failure();
    results.push_back(ranks.cast(ranks.reduce(own, getKind()), element));
    return success();
  }
  case ReduceKind::All:
  case ReduceKind::Any: {
    Value own =
        ReduceOp::create(builder, getLoc(), getKind(), getInput(), getAxes(), getKeepDims());
    const ReduceKind kind = getKind() == ReduceKind::All ? ReduceKind::Min : ReduceKind::Max;
    Value number = ranks.reduce(ranks.cast(own, builder.getF32Type()), kind);
    Value zero = scalarConstant(builder, getLoc(), builder.getF32Type(), 0);
    results.push_back(CompareOp::create(builder, getLoc(), ComparePredicate::NE, number, zero));
    return success();
  }
  }
  llvm_unreachable("a kind of reduction");
}

LogicalResult MomentsOp::buildOverRanks(OpBuilder &builder, SmallVectorImpl<Value> &results) {
  OverRanks ranks(builder, *this);
  Value input = ranks.widen(getInput());
  Value mean = ranks.mean(input, getAxes(), /*keepDims=*/true);
  Value distance = SubtractOp::create(builder, getLoc(), input, mean);
  Value square = MultiplyOp::create(builder, getLoc(), distance, distance);
  Value variance = ranks.mean(square, getAxes(), getKeepDims());
  auto type = tensorTypeOf(getMean());
  if (!getKeepDims())
    mean = ReshapeOp::create(builder, getLoc(), type.clone(elementTypeOf(mean)), mean);
  results.push_back(ranks.cast(mean, type.getElementType()));
  results.push_back(ranks.cast(variance, type.getElementType()));
  return success();
}

LogicalResult ContractOp::buildOverRanks(OpBuilder &builder, SmallVectorImpl<Value> &results) {
  if (getBias() || getActivation() != Activation::None)
    return failure(); // of the whole sum; mpc-fuse comes later
  OverRanks ranks(builder, *this);
  auto type = tensorTypeOf(getResult());
  Type element = type.getElementType();
  if (!isa<FloatType>(element))
    return failure(); // float8 and integers have scales of their own
  const bool isNarrow = widerOf32(element) != element;
  auto own = cast<ContractOp>(builder.clone(*getOperation()));
  if (isNarrow)
    own.getResult().setType(type.clone(widerOf32(element)));
  results.push_back(ranks.cast(ranks.reduce(own.getResult()), element));
  return success();
}

LogicalResult ConvolutionFilterGradientOp::buildOverRanks(OpBuilder &builder,
                                                          SmallVectorImpl<Value> &results) {
  OverRanks ranks(builder, *this);
  auto type = tensorTypeOf(getResult());
  auto own = cast<ConvolutionFilterGradientOp>(builder.clone(*getOperation()));
  own.getResult().setType(type.clone(widerOf32(type.getElementType())));
  results.push_back(ranks.cast(ranks.reduce(own.getResult()), type.getElementType()));
  return success();
}

LogicalResult ScatterAddOp::buildOverRanks(OpBuilder &builder, SmallVectorImpl<Value> &results) {
  OverRanks ranks(builder, *this);
  Type element = elementTypeOf(getResult());
  Value own = ScatterAddOp::create(builder, getLoc(), getIndices(), ranks.widen(getUpdates()),
                                   ranks.widen(getLike()), getAxis(), getBatchDims());
  results.push_back(ranks.cast(ranks.reduce(own), element));
  return success();
}

OpOperand *DropoutOp::getStateOfSamples() { return &getStateMutable(); }
OpOperand *NormalNoiseOp::getStateOfSamples() { return &getStateMutable(); }
OpOperand *UniformNoiseOp::getStateOfSamples() { return &getStateMutable(); }

template <typename Op> static OpOperand *stateOfDropout(Op op) {
  MutableOperandRange state = op.getStateMutable();
  return state.empty() ? nullptr : &*state.begin();
}
OpOperand *AttentionOp::getStateOfSamples() { return stateOfDropout(*this); }
OpOperand *AttentionGradientOp::getStateOfSamples() { return stateOfDropout(*this); }

// The other ops take the batch as their first dimension; these have an axis that may be it.

bool SoftmaxOp::mixesSamples() { return getAxis() == 0 && hasBatch(getInput()); }
bool LogSoftmaxOp::mixesSamples() { return getAxis() == 0 && hasBatch(getInput()); }
