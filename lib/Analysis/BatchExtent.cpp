// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Follows extents through allocations, views and index arithmetic to the batch argument.
#include "mpc/Analysis/BatchExtent.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace mpc;

using MaybeExtent = std::optional<BatchExtent>;

static MaybeExtent makeExtent(std::optional<int64_t> fixed, std::optional<int64_t> perSample) {
  if (!fixed || !perSample)
    return std::nullopt;
  return BatchExtent{*fixed, *perSample};
}

MaybeExtent BatchExtent::operator+(const BatchExtent &other) const {
  return makeExtent(llvm::checkedAdd(fixed, other.fixed),
                    llvm::checkedAdd(perSample, other.perSample));
}

static MaybeExtent add(BatchExtent a, BatchExtent b) { return a + b; }

MaybeExtent BatchExtent::operator*(const BatchExtent &other) const {
  if (perSample != 0 && other.perSample != 0)
    return std::nullopt;
  const BatchExtent &number = other.perSample == 0 ? other : *this;
  const BatchExtent &linear = other.perSample == 0 ? *this : other;
  return makeExtent(llvm::checkedMul(linear.fixed, number.fixed),
                    llvm::checkedMul(linear.perSample, number.fixed));
}

/// Exact division only: rounding would not be linear in the batch.
static MaybeExtent divide(BatchExtent a, BatchExtent b) {
  if (b.perSample != 0) {
    if (a.fixed == 0 && b.fixed == 0 && a.perSample % b.perSample == 0)
      return BatchExtent{a.perSample / b.perSample, 0};
    return std::nullopt;
  }
  if (b.fixed <= 0 || a.fixed % b.fixed != 0 || a.perSample % b.fixed != 0)
    return std::nullopt;
  return BatchExtent{a.fixed / b.fixed, a.perSample / b.fixed};
}

BlockArgument mpc::getBatchArgument(func::FuncOp entry) {
  // It is asked for with each extent; attributes take longer to find than types.
  for (BlockArgument argument : llvm::reverse(entry.getArguments()))
    if (argument.getType().isIndex() &&
        entry.getArgAttr(argument.getArgNumber(), mpcrt::MpcrtDialect::kBatchAttr))
      return argument;
  return {};
}

static MaybeExtent evaluateAffine(AffineExpr expr, unsigned dims, ValueRange operands) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return BatchExtent{constant.getValue(), 0};
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return evaluateIndex(operands[dim.getPosition()]);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return evaluateIndex(operands[dims + symbol.getPosition()]);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  MaybeExtent left = evaluateAffine(binary.getLHS(), dims, operands);
  MaybeExtent right = evaluateAffine(binary.getRHS(), dims, operands);
  if (!left || !right)
    return std::nullopt;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return add(*left, *right);
  case AffineExprKind::Mul:
    return *left * *right;
  case AffineExprKind::FloorDiv:
  case AffineExprKind::CeilDiv:
    return divide(*left, *right);
  default:
    return std::nullopt;
  }
}

MaybeExtent mpc::evaluateIndex(Value index) {
  if (auto constant = getConstantIntValue(index))
    return BatchExtent{*constant, 0};
  if (auto argument = dyn_cast<BlockArgument>(index)) {
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    if (function && getBatchArgument(function) == argument)
      return BatchExtent{0, 1};
    return std::nullopt;
  }
  Operation *op = index.getDefiningOp();
  auto both = [&](auto combine) -> MaybeExtent {
    MaybeExtent left = evaluateIndex(op->getOperand(0)), right = evaluateIndex(op->getOperand(1));
    return left && right ? combine(*left, *right) : std::nullopt;
  };
  if (isa<arith::AddIOp>(op))
    return both(add);
  if (isa<arith::SubIOp>(op))
    return both([](BatchExtent a, BatchExtent b) { return add(a, {-b.fixed, -b.perSample}); });
  if (isa<arith::MulIOp>(op))
    return both([](BatchExtent a, BatchExtent b) { return a * b; });
  if (isa<arith::DivSIOp, arith::DivUIOp>(op))
    return both(divide);
  if (isa<arith::IndexCastOp>(op))
    return evaluateIndex(op->getOperand(0));
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op))
    return evaluateAffine(apply.getAffineMap().getResult(0), apply.getAffineMap().getNumDims(),
                          apply.getOperands());
  if (isa<memref::DimOp, tensor::DimOp>(op))
    if (auto dimension = getConstantIntValue(op->getOperand(1)))
      return getExtent(op->getOperand(0), *dimension);
  return std::nullopt;
}

static MaybeExtent evaluateFold(OpFoldResult value) {
  if (auto attribute = dyn_cast<Attribute>(value))
    return BatchExtent{cast<IntegerAttr>(attribute).getInt(), 0};
  return evaluateIndex(cast<Value>(value));
}

/// Product of the extents of a group of dimensions.
static MaybeExtent groupExtent(Value shaped, ArrayRef<int64_t> group) {
  MaybeExtent product = BatchExtent{1, 0};
  for (int64_t dimension : group) {
    MaybeExtent extent = getExtent(shaped, dimension);
    if (!product || !extent)
      return std::nullopt;
    product = *product * *extent;
  }
  return product;
}

MaybeExtent mpc::getExtent(Value shaped, int64_t dimension) {
  auto type = cast<ShapedType>(shaped.getType());
  if (!type.isDynamicDim(dimension))
    return BatchExtent{type.getDimSize(dimension), 0};
  if (isa<BlockArgument>(shaped)) {
    // An argument of an entry: its dynamic extent is the batch.
    return isa<func::FuncOp>(shaped.getParentBlock()->getParentOp())
               ? MaybeExtent(BatchExtent{0, 1})
               : std::nullopt;
  }
  Operation *op = shaped.getDefiningOp();
  if (isa<memref::AllocOp, memref::AllocaOp, tensor::EmptyOp>(op))
    return evaluateIndex(op->getOperand(type.getDynamicDimIndex(dimension)));
  if (auto view = dyn_cast<mpcrt::ViewOp>(op))
    return BatchExtent{0, static_cast<int64_t>(view.getExtent())};
  if (isa<memref::CastOp, bufferization::ToTensorOp, bufferization::ToBufferOp>(op))
    return getExtent(op->getOperand(0), dimension);
  if (auto collapse = dyn_cast<memref::CollapseShapeOp>(op))
    return groupExtent(collapse.getSrc(), collapse.getReassociationIndices()[dimension]);
  if (auto expand = dyn_cast<memref::ExpandShapeOp>(op)) {
    // The dynamic extent of a group is what remains of the source's.
    for (auto [source, group] : llvm::enumerate(expand.getReassociationIndices())) {
      if (!llvm::is_contained(group, dimension))
        continue;
      int64_t others = 1;
      for (int64_t other : group)
        if (other != dimension)
          others *= type.isDynamicDim(other) ? 0 : type.getDimSize(other);
      MaybeExtent extent = getExtent(expand.getSrc(), source);
      return extent && others > 0 ? divide(*extent, {others, 0}) : std::nullopt;
    }
  }
  if (auto subview = dyn_cast<memref::SubViewOp>(op)) {
    llvm::SmallBitVector dropped = subview.getDroppedDims();
    int64_t kept = 0;
    for (auto [source, size] : llvm::enumerate(subview.getMixedSizes()))
      if (!dropped[source] && kept++ == dimension)
        return evaluateFold(size);
  }
  if (auto cast = dyn_cast<memref::ReinterpretCastOp>(op))
    return evaluateFold(cast.getMixedSizes()[dimension]);
  return std::nullopt;
}

MaybeExtent mpc::getElementCount(Value shaped) {
  MaybeExtent count = BatchExtent{1, 0};
  for (int64_t dim = 0, rank = cast<ShapedType>(shaped.getType()).getRank(); dim < rank && count;
       ++dim) {
    MaybeExtent extent = getExtent(shaped, dim);
    count = extent ? *count * *extent : std::nullopt;
  }
  return count;
}

Value mpc::materialize(OpBuilder &builder, Location loc, BatchExtent extent, Value batch) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  if (extent.isFixed())
    return constant(extent.fixed);
  Value value = batch;
  if (extent.perSample != 1)
    value = arith::MulIOp::create(builder, loc, value, constant(extent.perSample));
  if (extent.fixed != 0)
    value = arith::AddIOp::create(builder, loc, value, constant(extent.fixed));
  return value;
}
