// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Softmax, its logarithm and its divisor, and the fused cross-entropy.
#include "dialects/mpc/IR/Mpc.h"

#include <cmath>

using namespace mlir;
using namespace mpc;

static LogicalResult verifyAxis(Operation *op, int64_t axis, int64_t rank) {
  if (axis < 0 || axis >= rank)
    return op->emitOpError() << "axis " << axis << " is out of range for rank " << rank;
  return success();
}

LogicalResult SoftmaxOp::verify() {
  return verifyAxis(*this, getAxis(), tensorTypeOf(getInput()).getRank());
}
LogicalResult LogSoftmaxOp::verify() {
  return verifyAxis(*this, getAxis(), tensorTypeOf(getInput()).getRank());
}
PrecisionClass SoftmaxOp::getPrecisionClass() { return PrecisionClass::Keep32; }
PrecisionClass LogSoftmaxOp::getPrecisionClass() { return PrecisionClass::Keep32; }

Value mpc::logSumExp(OpBuilder &builder, Location loc, Value x, ArrayRef<int64_t> axes) {
  auto reduce = [&](ReduceKind kind, Value value) -> Value {
    return ReduceOp::create(builder, loc, kind, value, axes, /*keepDims=*/true);
  };
  Value top = StopGradientOp::create(builder, loc, reduce(ReduceKind::Max, x));
  // An infinite maximum would make NaN.
  top = SelectOp::create(builder, loc, IsFiniteOp::create(builder, loc, top), top,
                         scalarConstant(builder, loc, elementTypeOf(x), 0));
  Value terms = ExpOp::create(builder, loc, SubtractOp::create(builder, loc, x, top));
  Value sum = LogOp::create(builder, loc, reduce(ReduceKind::Sum, terms));
  return AddOp::create(builder, loc, sum, top);
}

LogicalResult SoftmaxCrossEntropyOp::inferReturnTypes(MLIRContext *,
                                                      std::optional<Location> location,
                                                      ValueRange operands, DictionaryAttr,
                                                      OpaqueProperties, RegionRange,
                                                      SmallVectorImpl<Type> &types) {
  auto logits = tensorTypeOf(operands[0]);
  if (logits.getRank() == 0)
    return emitOptionalError(location, "logits must have at least one dimension");
  types.push_back(RankedTensorType::get(logits.getShape().drop_back(), logits.getElementType()));
  return success();
}

LogicalResult SoftmaxCrossEntropyOp::verify() {
  if (getLogits().getType() != getTarget().getType())
    return emitOpError() << "logits and target must have the same type";
  return success();
}

PrecisionClass SoftmaxCrossEntropyOp::getPrecisionClass() { return PrecisionClass::Keep32; }

static Value sumAlong(OpBuilder &builder, Location loc, Value value, int64_t axis) {
  return ReduceOp::create(builder, loc, ReduceKind::Sum, value, ArrayRef<int64_t>{axis},
                          /*keep_dims=*/true);
}

/// tensorflow/python/ops/nn_grad.py _SoftmaxGrad: (dy - sum(dy * y)) * y.
LogicalResult SoftmaxOp::buildVjp(OpBuilder &builder, ValueRange cotangents, ArrayRef<bool>,
                                  MutableArrayRef<Value> operandCotangents) {
  Location loc = getLoc();
  Value dy = cotangents[0], y = getResult();
  Value total = sumAlong(builder, loc, MultiplyOp::create(builder, loc, dy, y), getAxis());
  operandCotangents[0] =
      MultiplyOp::create(builder, loc, SubtractOp::create(builder, loc, dy, total), y);
  return success();
}

/// tensorflow/python/ops/nn_grad.py _LogSoftmaxGrad: dy - sum(dy) * e^y.
LogicalResult LogSoftmaxOp::buildVjp(OpBuilder &builder, ValueRange cotangents, ArrayRef<bool>,
                                     MutableArrayRef<Value> operandCotangents) {
  Location loc = getLoc();
  Value dy = cotangents[0];
  Value probabilities = ExpOp::create(builder, loc, getResult());
  Value share =
      MultiplyOp::create(builder, loc, sumAlong(builder, loc, dy, getAxis()), probabilities);
  operandCotangents[0] = SubtractOp::create(builder, loc, dy, share);
  return success();
}

/// dy * (softmax(logits) - target), dy with an extent of 1 along the classes.
LogicalResult SoftmaxCrossEntropyOp::buildVjp(OpBuilder &builder, ValueRange cotangents,
                                              ArrayRef<bool> wanted,
                                              MutableArrayRef<Value> operandCotangents) {
  Location loc = getLoc();
  auto type = tensorTypeOf(getLogits());
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = 1;
  Value dy = ReshapeOp::create(builder, loc, RankedTensorType::get(shape, type.getElementType()),
                               cotangents[0]);
  const int64_t axis = type.getRank() - 1;
  if (wanted[0]) {
    Value probabilities = SoftmaxOp::create(builder, loc, getLogits(), axis);
    Value difference = SubtractOp::create(builder, loc, probabilities, getTarget());
    operandCotangents[0] = MultiplyOp::create(builder, loc, dy, difference);
  }
  if (wanted[1]) {
    Value logarithms = LogSoftmaxOp::create(builder, loc, getLogits(), axis);
    operandCotangents[1] =
        NegateOp::create(builder, loc, MultiplyOp::create(builder, loc, dy, logarithms));
  }
  return success();
}

/// Calls `line(start, stride, count)` for each line of elements along the axis.
static void forEachLine(ArrayRef<int64_t> shape, int64_t axis,
                        llvm::function_ref<void(int64_t, int64_t, int64_t)> line) {
  SmallVector<int64_t> strides = rowMajorStrides(shape), extents(shape);
  extents[axis] = 1;
  for (int64_t start : stridedOffsets(extents, strides))
    line(start, strides[axis], shape[axis]);
}

/// max + log(sum e^(x - max)) along one line. An infinite or NaN maximum gives NaN, as in
/// TensorFlow.
static double normalizerOf(const ReferenceTensor &x, int64_t start, int64_t stride, int64_t count) {
  double top = -INFINITY, sum = 0;
  for (int64_t i = 0; i < count; ++i)
    top = std::fmax(top, x.floats[start + i * stride]);
  for (int64_t i = 0; i < count; ++i)
    sum += std::exp(x.floats[start + i * stride] - top);
  return top + std::log(sum);
}

LogicalResult SoftmaxOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                  MutableArrayRef<ReferenceTensor> results) {
  const ReferenceTensor &x = operands[0];
  startReference(results[0], x.elementType, x.shape);
  forEachLine(x.shape, getAxis(), [&](int64_t start, int64_t stride, int64_t count) {
    double top = -INFINITY, sum = 0;
    for (int64_t i = 0; i < count; ++i)
      top = std::fmax(top, x.floats[start + i * stride]);
    for (int64_t i = 0; i < count; ++i)
      sum += std::exp(x.floats[start + i * stride] - top);
    for (int64_t i = 0; i < count; ++i)
      results[0].set(start + i * stride, std::exp(x.floats[start + i * stride] - top) / sum);
  });
  return success();
}

LogicalResult LogSoftmaxOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                     MutableArrayRef<ReferenceTensor> results) {
  const ReferenceTensor &x = operands[0];
  startReference(results[0], x.elementType, x.shape);
  forEachLine(x.shape, getAxis(), [&](int64_t start, int64_t stride, int64_t count) {
    double normalizer = normalizerOf(x, start, stride, count);
    for (int64_t i = 0; i < count; ++i)
      results[0].set(start + i * stride, x.floats[start + i * stride] - normalizer);
  });
  return success();
}

LogicalResult SoftmaxCrossEntropyOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                              MutableArrayRef<ReferenceTensor> results) {
  const ReferenceTensor &logits = operands[0], &target = operands[1];
  startReference(results[0], logits.elementType, ArrayRef(logits.shape).drop_back());
  int64_t next = 0;
  forEachLine(logits.shape, logits.shape.size() - 1,
              [&](int64_t start, int64_t stride, int64_t count) {
                double normalizer = normalizerOf(logits, start, stride, count), loss = 0;
                for (int64_t i = start; i < start + count; ++i)
                  loss += target.floats[i] * (normalizer - logits.floats[i]);
                results[0].set(next++, loss);
              });
  return success();
}
