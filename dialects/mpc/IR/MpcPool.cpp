// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pool and its gradient: shapes, verifiers, derivative, reference values.
#include "dialects/mpc/IR/Mpc.h"

#include <cmath>

using namespace mlir;
using namespace mpc;

static LogicalResult verifyPool(Operation *op, ReduceKind kind, RankedTensorType input,
                                RankedTensorType result, ArrayRef<int64_t> window,
                                ArrayRef<int64_t> strides, ArrayRef<int64_t> low,
                                ArrayRef<int64_t> high) {
  if (kind != ReduceKind::Max && kind != ReduceKind::Mean)
    return op->emitOpError("pools by max or mean");
  int64_t rank = input.getRank(), spatial = rank - 2;
  if (rank < 3 || rank > 5 || result.getRank() != rank)
    return op->emitOpError("input and result must have one rank from 3 to 5");
  if (input.getElementType() != result.getElementType())
    return op->emitOpError("must keep the element type");
  if (input.getNumDynamicDims() > input.isDynamicDim(0) ||
      result.getNumDynamicDims() > result.isDynamicDim(0))
    return op->emitOpError("only the batch may be dynamic");
  if (input.getDimSize(0) != result.getDimSize(0) ||
      input.getShape().back() != result.getShape().back())
    return op->emitOpError("batches or channels differ");
  if (window.empty() && strides.empty() && low.empty() && high.empty()) {
    for (int64_t d = 1; d <= spatial; ++d)
      if (result.getDimSize(d) < 1 || input.getDimSize(d) < 1)
        return op->emitOpError("an adaptive pool needs elements and results");
    return success();
  }
  for (ArrayRef<int64_t> numbers : {window, strides, low, high})
    if (int64_t(numbers.size()) != spatial)
      return op->emitOpError() << "needs " << spatial << " windows, strides and paddings";
  for (int64_t d = 0; d < spatial; ++d) {
    if (window[d] < 1 || strides[d] < 1 || low[d] < 0 || high[d] < 0)
      return op->emitOpError() << "windows and strides must be positive, paddings not negative "
                                  "(dimension "
                               << d << ")";
    if (std::max({window[d], strides[d], low[d], high[d]}) > std::numeric_limits<int32_t>::max())
      return op->emitOpError() << "window of dimension " << d << " is too large";
    // A window of an empty dimension would hold no element.
    if (input.getDimSize(d + 1) < 1)
      return op->emitOpError() << "dimension " << d + 1 << " of the input has no elements";
    if (low[d] >= window[d] || high[d] >= window[d])
      return op->emitOpError() << "padding of dimension " << d
                               << " must be smaller than the window";
    int64_t outputs =
        convolvedExtent(input.getDimSize(d + 1), window[d], strides[d], low[d], high[d], 1);
    if (outputs != result.getDimSize(d + 1))
      return op->emitOpError() << "spatial dimension " << d << " has " << outputs << " pixels, but "
                               << result.getDimSize(d + 1) << " are given";
  }
  return success();
}

void PoolOp::build(OpBuilder &builder, OperationState &state, ReduceKind kind, Value input,
                   ArrayRef<int64_t> window, ArrayRef<int64_t> strides, ArrayRef<int64_t> low,
                   ArrayRef<int64_t> high) {
  auto type = tensorTypeOf(input);
  SmallVector<int64_t> shape(type.getShape());
  for (size_t d = 0; d < window.size(); ++d)
    shape[d + 1] = convolvedExtent(shape[d + 1], window[d], strides[d], low[d], high[d], 1);
  build(builder, state, type.clone(shape), kind, input, window, strides, low, high);
}

LogicalResult PoolOp::verify() {
  return verifyPool(*this, getKind(), tensorTypeOf(getInput()), tensorTypeOf(getResult()),
                    getWindow(), getStrides(), getPaddingLow(), getPaddingHigh());
}

LogicalResult PoolGradientOp::verify() {
  auto result = tensorTypeOf(getResult());
  if ((getKind() == ReduceKind::Max) != bool(getInput()))
    return emitOpError("max needs the pool's input, mean takes none");
  if (getInput() && getInput().getType() != result)
    return emitOpError("result must have the type of the pool's input");
  return verifyPool(*this, getKind(), result, tensorTypeOf(getCotangent()), getWindow(),
                    getStrides(), getPaddingLow(), getPaddingHigh());
}

static PrecisionClass precisionOf(ReduceKind kind) {
  return kind == ReduceKind::Max ? PrecisionClass::Follow : PrecisionClass::Keep32;
}
PrecisionClass PoolOp::getPrecisionClass() { return precisionOf(getKind()); }
// Cotangents of overlapping windows are added.
PrecisionClass PoolGradientOp::getPrecisionClass() { return PrecisionClass::Keep32; }

LogicalResult PoolOp::buildVjp(OpBuilder &builder, ValueRange cotangents, ArrayRef<bool>,
                               MutableArrayRef<Value> operandCotangents) {
  Value input = getKind() == ReduceKind::Max ? Value(getInput()) : Value();
  operandCotangents[0] =
      PoolGradientOp::create(builder, getLoc(), getInput().getType(), getKind(), cotangents[0],
                             input, getWindow(), getStrides(), getPaddingLow(), getPaddingHigh());
  return success();
}

// ---- Reference ----------------------------------------------------------------------------------

/// Calls `visit(output, elements)` for each element of the result: its offset and those of the
/// elements of its window, in row-major order.
template <typename Visit>
static void forEachWindow(ArrayRef<PoolAxis> axes, ArrayRef<int64_t> input,
                          ArrayRef<int64_t> result, Visit visit) {
  SmallVector<int64_t> strides = rowMajorStrides(input);
  SmallVector<int64_t, 0> outputs = stridedOffsets(result, rowMajorStrides(result));
  for (int64_t output : outputs) {
    int64_t rest = output, channel = rest % result.back();
    rest /= result.back();
    SmallVector<int64_t> extents(axes.size()), inner(strides.begin() + 1, strides.end() - 1);
    int64_t origin = channel;
    for (size_t d = axes.size(); d-- > 0;) {
      int64_t at = rest % axes[d].outputs;
      rest /= axes[d].outputs;
      origin += axes[d].begin(at) * strides[d + 1];
      extents[d] = axes[d].end(at) - axes[d].begin(at);
    }
    origin += rest * strides[0];
    SmallVector<int64_t, 0> elements = stridedOffsets(extents, inner);
    for (int64_t &element : elements)
      element += origin;
    visit(output, ArrayRef<int64_t>(elements));
  }
}

/// The first largest element, the first NaN if there is one.
static int64_t firstLargest(const ReferenceTensor &input, ArrayRef<int64_t> elements) {
  int64_t best = elements.front();
  for (int64_t element : elements.drop_front()) {
    if (std::isnan(input.floats[best]))
      break;
    if (!(input.floats[element] <= input.floats[best]))
      best = element;
  }
  return best;
}

LogicalResult PoolOp::evaluate(ArrayRef<ReferenceTensor> operands,
                               MutableArrayRef<ReferenceTensor> results) {
  const ReferenceTensor &input = operands[0];
  auto type = tensorTypeOf(getResult());
  SmallVector<int64_t> shape(type.getShape());
  shape[0] = input.shape[0];
  startReference(results[0], input.elementType, shape);
  auto axes = poolAxes(tensorTypeOf(getInput()), type, getWindow(), getStrides(), getPaddingLow());
  forEachWindow(axes, input.shape, shape, [&](int64_t output, ArrayRef<int64_t> elements) {
    if (getKind() == ReduceKind::Max) {
      results[0].floats[output] = input.floats[firstLargest(input, elements)];
      return;
    }
    double sum = 0;
    for (int64_t element : elements)
      sum += input.floats[element];
    results[0].set(output, sum / double(elements.size()));
  });
  return success();
}

LogicalResult PoolGradientOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                       MutableArrayRef<ReferenceTensor> results) {
  const ReferenceTensor &cotangent = operands[0];
  auto type = tensorTypeOf(getResult());
  SmallVector<int64_t> shape(type.getShape());
  shape[0] = cotangent.shape[0];
  startReference(results[0], cotangent.elementType, shape);
  SmallVector<double> sums(results[0].size(), 0.0);
  auto axes =
      poolAxes(type, tensorTypeOf(getCotangent()), getWindow(), getStrides(), getPaddingLow());
  forEachWindow(axes, shape, cotangent.shape, [&](int64_t output, ArrayRef<int64_t> elements) {
    double dy = cotangent.floats[output];
    if (getKind() == ReduceKind::Max)
      sums[firstLargest(operands[1], elements)] += dy;
    else
      for (int64_t element : elements)
        sums[element] += dy / double(elements.size());
  });
  for (size_t i = 0; i < sums.size(); ++i)
    results[0].set(i, sums[i]);
  return success();
}
