// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/mpc/IR/SumOfProducts.h"
#include "dialects/mpc/IR/Mpc.h"

using namespace mlir;
using namespace mpc;

/// `operand` with one dimension for each of `labels`, of extent 1 where it has none.
static Value spread(OpBuilder &builder, Location loc, Value operand, ArrayRef<int64_t> own,
                    ArrayRef<int64_t> labels) {
  auto type = tensorTypeOf(operand);
  SmallVector<int64_t> order, shape;
  for (int64_t label : labels) {
    const auto *found = llvm::find(own, label);
    if (found == own.end()) {
      shape.push_back(1);
      continue;
    }
    order.push_back(found - own.begin());
    shape.push_back(type.getDimSize(order.back()));
  }
  if (!llvm::is_sorted(order))
    operand = TransposeOp::create(builder, loc, operand, order);
  return shape == type.getShape()
             ? operand
             : Value(ReshapeOp::create(builder, loc, type.clone(shape), operand));
}

Value mpc::sumProducts(OpBuilder &builder, Location loc, Value lhs, ArrayRef<int64_t> lhsLabels,
                       Value rhs, ArrayRef<int64_t> rhsLabels, ArrayRef<int64_t> result) {
  // The batch first, also when it is summed; then the result's dimensions, then the other sums.
  SmallVector<int64_t> labels(result), axes;
  for (auto [value, own] : {std::pair(lhs, lhsLabels), std::pair(rhs, rhsLabels)})
    for (auto [d, label] : llvm::enumerate(own))
      if (!llvm::is_contained(labels, label)) {
        const bool isBatch = tensorTypeOf(value).isDynamicDim(d);
        labels.insert(isBatch ? labels.begin() : labels.end(), label);
      }
  for (auto [d, label] : llvm::enumerate(labels))
    if (!llvm::is_contained(result, label))
      axes.push_back(int64_t(d));
  Value products = MultiplyOp::create(builder, loc, spread(builder, loc, lhs, lhsLabels, labels),
                                      spread(builder, loc, rhs, rhsLabels, labels));
  return axes.empty() ? products
                      : Value(ReduceOp::create(builder, loc, ReduceKind::Sum, products, axes,
                                               /*keep_dims=*/false));
}
