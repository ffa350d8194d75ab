// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/Ops/Axes.h"

namespace mpc::onnx {

using mlir::Value;

/// `apply` to `x` with a dimension of 1 before the others, and its result without it.
static Value behindOne(NodeBuilder &b, Value x, llvm::function_ref<Value(Value)> apply) {
  llvm::SmallVector<int64_t> shape{1};
  llvm::append_range(shape, b.shapeOf(x));
  Value y = apply(b.makeReshape(x, shape));
  return b.makeReshape(y, llvm::SmallVector<int64_t>(b.shapeOf(y).drop_front()));
}

Value reverse(NodeBuilder &b, Value x, int64_t axis) {
  if (b.shapeOf(x)[axis] == 1)
    return x;
  if (axis > 0)
    return b.make<ReverseOp>(x, axis);
  return behindOne(b, x, [&](Value y) { return b.make<ReverseOp>(y, 1); });
}

Value resample(NodeBuilder &b, Value x, llvm::ArrayRef<ResampleTable> tables) {
  if (tables.empty())
    return x;
  if (tables.front().axis > 0)
    return b.make<ResampleOp>(x, tables);
  llvm::SmallVector<ResampleTable> moved(tables);
  for (ResampleTable &table : moved)
    ++table.axis;
  return behindOne(b, x, [&](Value y) { return b.make<ResampleOp>(y, llvm::ArrayRef(moved)); });
}

Value sliceAxis(NodeBuilder &b, Value x, int64_t axis, int64_t first, int64_t step, int64_t count) {
  const int64_t extent = b.shapeOf(x)[axis];
  if (first == 0 && step == 1 && count == extent)
    return x;
  if (step == 1 || count == 1)
    return b.make<SliceOp>(x, axis, first, count);
  if (step == -1)
    return reverse(b, b.make<SliceOp>(x, axis, first - count + 1, count), axis);
  ResampleTable table;
  table.axis = axis;
  table.taps = 1;
  for (int64_t i = 0; i < count; ++i)
    table.indices.push_back(first + i * step);
  return resample(b, x, {table});
}

} // namespace mpc::onnx
