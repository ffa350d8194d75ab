// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/Ops/Broadcasts.h"

#include "lib/Import/Common/Shape.h"

namespace mpc::onnx {

using mlir::Value;

/// A splat of truth, of which only the shape matters.
static Value makeTruth(NodeBuilder &b, llvm::ArrayRef<int64_t> shape) {
  auto type = mlir::RankedTensorType::get(shape, b.builder.getI1Type());
  return b.make<ConstantOp>(
      llvm::cast<mlir::ElementsAttr>(mlir::DenseElementsAttr::get(type, true)));
}

Value broadcastTo(NodeBuilder &b, Value x, llvm::ArrayRef<int64_t> shape) {
  auto known = broadcastShapes({b.shapeOf(x), shape});
  if (failed(known))
    return b.error("the shapes " + printShape(b.shapeOf(x)) + " and " + printShape(shape) +
                   " do not broadcast");
  const llvm::SmallVector<int64_t> result = *known;
  if (llvm::ArrayRef(result) == b.shapeOf(x))
    return x;
  if (llvm::is_contained(result, 0))
    return b.error("the result has no elements, and mpc compiles no empty tensors");
  if (!llvm::is_contained(result, mlir::ShapedType::kDynamic))
    return b.make<BroadcastLikeOp>(x, makeTruth(b, result));
  if (llvm::count(result, mlir::ShapedType::kDynamic) > 1)
    return b.errorOfOpenBatch("the open batch would be two dimensions");
  const auto axis = size_t(llvm::find(result, mlir::ShapedType::kDynamic) - result.begin());
  llvm::SmallVector<int64_t> rest(result);
  rest[axis] = 1;
  Value carrier = x;
  if (b.rankOf(x) < int64_t(result.size()) || !mlir::ShapedType::isDynamic(b.shapeOf(x)[axis])) {
    // The batch comes from an input of the model, reduced to one element of each sample.
    carrier = b.getBatchCarrier();
    if (!carrier)
      return b.error("no input has the open batch");
    for (int64_t own = 1; own < b.rankOf(carrier); ++own)
      carrier = b.make<SliceOp>(carrier, own, 0, 1);
    llvm::SmallVector<int64_t> ones(result.size(), 1);
    ones[axis] = mlir::ShapedType::kDynamic;
    carrier = b.makeReshape(carrier, ones);
  }
  Value like = b.makeSelect(makeTruth(b, rest), carrier, carrier);
  return carrier == x ? like : b.make<BroadcastLikeOp>(x, like);
}

} // namespace mpc::onnx
