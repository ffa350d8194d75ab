// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc.gather reads the table at computed indices in the body of a parallel op; mpc.scatter_add
// becomes mpcrt.scatter_add on three dimensions, outer indices, rows and columns.
#include "dialects/mpc/IR/Mpc.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Conversion/MpcToLinalg/Generic.h"
#include "lib/Conversion/MpcToLinalg/Patterns.h"
#include "lib/Conversion/MpcToLinalg/Scalar.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <limits>

using namespace mlir;
using namespace mpc;

namespace {
struct LowerGather : OpConversionPattern<GatherOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(GatherOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value table = adaptor.getTable(), indices = adaptor.getIndices();
    auto tableType = tensorTypeOf(table), indexType = tensorTypeOf(indices);
    auto type = cast<RankedTensorType>(getTypeConverter()->convertType(op.getType()));
    int64_t axis = op.getAxis(), batch = op.getBatchDims(), rank = type.getRank();
    int64_t named = indexType.getRank() - batch; // dimensions of the result in place of the axis

    // The indices' dimensions in the result: the shared ones first, the others from the axis on.
    SmallVector<AffineExpr> exprs;
    for (int64_t d = 0; d < indexType.getRank(); ++d)
      exprs.push_back(rewriter.getAffineDimExpr(d < batch ? d : axis + d - batch));
    SmallVector<OpFoldResult> extents;
    for (int64_t d = 0; d < rank; ++d) {
      if (d < axis)
        extents.push_back(extentOf(rewriter, loc, table, d));
      else if (d < axis + named)
        extents.push_back(extentOf(rewriter, loc, indices, d - axis + batch));
      else
        extents.push_back(extentOf(rewriter, loc, table, d - named + 1));
    }
    Value empty = tensor::EmptyOp::create(rewriter, loc, extents, type.getElementType());
    Type declared = elementTypeOf(op.getIndices());
    auto body = [&](OpBuilder &b, Location l, ValueRange scalars, ValueRange) {
      int64_t extent = tableType.getDimSize(axis);
      Value index = castScalar(b, l, scalars[0], declared, b.getI64Type());
      Value zero = scalarOf(b, l, b.getI64Type(), 0);
      Value count = arith::ConstantOp::create(b, l, b.getI64IntegerAttr(extent));
      if (!declared.isUnsignedInteger()) {
        Value negative = arith::CmpIOp::create(b, l, arith::CmpIPredicate::slt, index, zero);
        Value fromEnd = arith::AddIOp::create(b, l, index, count);
        index = arith::SelectOp::create(b, l, negative, fromEnd, index);
      }
      // Unsigned: what is still negative is outside, too. An index outside reads index 0.
      Value inside = arith::CmpIOp::create(b, l, arith::CmpIPredicate::ult, index, count);
      Value safe = arith::SelectOp::create(b, l, inside, index, zero);
      SmallVector<Value> at;
      for (int64_t d = 0; d < tableType.getRank(); ++d) {
        if (d == axis)
          at.push_back(arith::IndexCastOp::create(b, l, b.getIndexType(), safe));
        else
          at.push_back(linalg::IndexOp::create(b, l, d < axis ? d : d + named - 1));
      }
      Value value = tensor::ExtractOp::create(b, l, table, at);
      Type element = value.getType();
      Value outside = scalarOf(
          b, l, element, isa<FloatType>(element) ? std::numeric_limits<double>::quiet_NaN() : 0);
      return SmallVector<Value>{arith::SelectOp::create(b, l, inside, value, outside)};
    };
    AffineMap indexMap = AffineMap::get(rank, 0, exprs, getContext());
    rewriter.replaceOp(op, buildReduction(rewriter, loc, indices, empty,
                                          {indexMap, rewriter.getMultiDimIdentityMap(rank)}, {},
                                          body)[0]);
    return success();
  }
};

/// `value` with dimensions [0, first), [first, second), [second, rank) merged; an empty group is an
/// extent of 1.
/// With `from` 1 the first group, which is empty, gets no dimension.
Value mergeToThree(OpBuilder &builder, Location loc, Value value, int64_t first, int64_t second,
                   int from = 0) {
  auto type = tensorTypeOf(value);
  int64_t bounds[] = {0, first, second, type.getRank()};
  SmallVector<ReassociationIndices> groups;
  SmallVector<int64_t> merged;
  for (int g = from; g < 3; ++g) {
    if (bounds[g] == bounds[g + 1])
      continue;
    int64_t extent = 1;
    for (int64_t d = bounds[g]; d < bounds[g + 1]; ++d)
      extent = ShapedType::isDynamic(extent) || type.isDynamicDim(d) ? ShapedType::kDynamic
                                                                     : extent * type.getDimSize(d);
    merged.push_back(extent);
    groups.emplace_back(llvm::to_vector(llvm::seq(bounds[g], bounds[g + 1])));
  }
  if (int64_t(merged.size()) != type.getRank())
    value = tensor::CollapseShapeOp::create(builder, loc, type.clone(merged), value, groups);
  if (int(merged.size()) == 3 - from)
    return value;
  // Extents of 1 for the empty groups.
  SmallVector<int64_t> shape;
  SmallVector<OpFoldResult> extents;
  SmallVector<ReassociationIndices> kept;
  ReassociationIndices leading;
  size_t next = 0;
  for (int g = from; g < 3; ++g) {
    bool isEmpty = bounds[g] == bounds[g + 1];
    shape.push_back(isEmpty ? 1 : merged[next]);
    extents.push_back(isEmpty ? OpFoldResult(builder.getIndexAttr(1))
                              : extentOf(builder, loc, value, next));
    next += !isEmpty;
    if (!isEmpty) {
      kept.push_back(std::exchange(leading, {}));
      kept.back().push_back(g - from);
    } else if (kept.empty()) {
      leading.push_back(g - from);
    } else {
      kept.back().push_back(g - from);
    }
  }
  return tensor::ExpandShapeOp::create(builder, loc, type.clone(shape), value, kept, extents);
}

struct LowerScatterAdd : OpConversionPattern<ScatterAddOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(ScatterAddOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value indices = adaptor.getIndices(), like = adaptor.getLike();
    auto indexType = tensorTypeOf(indices), likeType = tensorTypeOf(like);
    int64_t axis = op.getAxis(), batch = op.getBatchDims();
    if (batch != 0 && batch != axis)
      return rewriter.notifyMatchFailure(op, "dimensions between the shared ones and the axis");
    int64_t named = indexType.getRank() - batch;

    // The indices become signed 64-bit numbers of rank 1, or of rank 2 where they differ by outer
    // index.
    Type i64 = rewriter.getI64Type(), declared = elementTypeOf(op.getIndices());
    Value empty = emptyFrom(rewriter, loc, indexType.clone(i64), indices);
    indices =
        buildElementwise(rewriter, loc, indices, empty,
                         [&](OpBuilder &b, Location l, ValueRange scalars, ValueRange) {
                           return SmallVector<Value>{castScalar(b, l, scalars[0], declared, i64)};
                         })[0];
    Value merged = mergeToThree(rewriter, loc, indices, batch, indexType.getRank());
    auto mergedType = tensorTypeOf(merged);
    SmallVector<ReassociationIndices> groups{{0}, {1, 2}};
    SmallVector<int64_t> mergedShape{mergedType.getDimSize(0), mergedType.getDimSize(1)};
    if (batch == 0) {
      groups = {{0, 1, 2}};
      mergedShape.erase(mergedShape.begin());
    }
    merged = tensor::CollapseShapeOp::create(rewriter, loc, mergedType.clone(mergedShape), merged,
                                             groups);

    // A dynamic number of rows must come first: no stride may depend on the batch.
    const int from = axis == 0;
    Value updates = mergeToThree(rewriter, loc, adaptor.getUpdates(), axis, axis + named, from);
    Type element = tensorTypeOf(updates).getElementType(), wide = widerOf32(element);
    Value zeros =
        filledFrom(rewriter, loc, likeType.clone(wide), like, scalarOf(rewriter, loc, wide, 0));
    Value table = mergeToThree(rewriter, loc, zeros, axis, axis + 1, from);
    Value sums = mpcrt::ScatterAddOp::create(rewriter, loc, TypeRange(table.getType()), merged,
                                             updates, table)
                     .getResult(0);
    // Back to the table's shape, rounded once.
    SmallVector<OpFoldResult> extents = extentsFrom(rewriter, loc, likeType, like);
    sums = splitFromThree(rewriter, loc, sums, likeType.clone(wide), axis, extents);
    if (element != wide)
      sums = CastOp::create(rewriter, loc, likeType.clone(element), sums);
    rewriter.replaceOp(op, sums);
    return success();
  }

  /// The inverse of mergeToThree for groups [0, axis), axis, (axis, rank).
  static Value splitFromThree(OpBuilder &builder, Location loc, Value value, RankedTensorType type,
                              int64_t axis, ArrayRef<OpFoldResult> extents) {
    bool noOuter = axis == 0, noInner = axis + 1 == type.getRank();
    auto merged = tensorTypeOf(value);
    if (noInner) {
      SmallVector<int64_t> shape(merged.getShape().drop_back());
      SmallVector<ReassociationIndices> kept;
      for (int64_t d : llvm::seq<int64_t>(shape.size()))
        kept.push_back({d});
      kept.back().push_back(shape.size());
      value = tensor::CollapseShapeOp::create(builder, loc, merged.clone(shape), value, kept);
    }
    if (tensorTypeOf(value).getRank() == type.getRank())
      return value;
    SmallVector<ReassociationIndices> groups;
    if (!noOuter)
      groups.emplace_back(llvm::to_vector(llvm::seq<int64_t>(0, axis)));
    groups.push_back({axis});
    if (!noInner)
      groups.emplace_back(llvm::to_vector(llvm::seq<int64_t>(axis + 1, type.getRank())));
    return tensor::ExpandShapeOp::create(builder, loc, type, value, groups, extents);
  }
};
} // namespace

void mpc::populateIndexingPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerGather, LowerScatterAdd>(converter, patterns.getContext());
}
