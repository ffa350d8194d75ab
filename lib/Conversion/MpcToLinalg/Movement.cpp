// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Constants and ops that move elements: views where there is one, else a copy into a destination.
#include "dialects/mpc/IR/Mpc.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Conversion/MpcToLinalg/Generic.h"
#include "lib/Conversion/MpcToLinalg/Patterns.h"
#include "lib/Conversion/MpcToLinalg/Scalar.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

using namespace mlir;
using namespace mpc;

/// Copies the (broadcast or permuted) input into an empty tensor.
static Value copyThrough(OpBuilder &builder, Location loc, Value input, Value empty,
                         AffineMap map) {
  int64_t rank = tensorTypeOf(empty).getRank();
  return buildReduction(builder, loc, input, empty, {map, builder.getMultiDimIdentityMap(rank)}, {},
                        [](OpBuilder &, Location, ValueRange inputs, ValueRange) {
                          return SmallVector<Value>{inputs[0]};
                        })[0];
}

namespace {
struct LowerConstant : OpConversionPattern<ConstantOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(ConstantOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ElementsAttr value = op.getValue();
    auto type = cast<RankedTensorType>(getTypeConverter()->convertType(op.getType()));
    if (type != op.getType()) {
      auto dense = dyn_cast<DenseElementsAttr>(value);
      if (!dense)
        return rewriter.notifyMatchFailure(op, "an unsigned constant must be dense");
      value = dense.bitcast(type.getElementType());
    }
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, type, cast<TypedAttr>(value));
    return success();
  }
};

struct LowerReshape : OpConversionPattern<ReshapeOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(ReshapeOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(getTypeConverter()->convertType(op.getType()));
    Value input = adaptor.getInput();
    auto inputType = tensorTypeOf(input);
    SmallVector<OpFoldResult> extents = extentsFrom(rewriter, op.getLoc(), inputType, input);
    SmallVector<OpFoldResult> targetExtents;
    auto batch = llvm::find_if(inputType.getShape(), ShapedType::isDynamic);
    for (int64_t extent : type.getShape())
      targetExtents.push_back(ShapedType::isDynamic(extent)
                                  ? extents[batch - inputType.getShape().begin()]
                                  : OpFoldResult(rewriter.getIndexAttr(extent)));
    if (auto groups = getReassociationIndicesForReshape(inputType, type)) {
      rewriter.replaceOp(op, reshape(rewriter, op.getLoc(), input, type, *groups, targetExtents));
      return success();
    }
    // Through one flat dimension, or the batch and one flat dimension.
    bool dynamic = inputType.getNumDynamicDims() != 0;
    if (dynamic && (!inputType.isDynamicDim(0) || !type.isDynamicDim(0)))
      return rewriter.notifyMatchFailure(op, "the batch is not the first dimension");
    auto groupsOf = [&](int64_t rank) {
      SmallVector<ReassociationIndices> groups;
      if (dynamic)
        groups.push_back({0});
      groups.emplace_back(llvm::to_vector(llvm::seq<int64_t>(dynamic, rank)));
      return groups;
    };
    int64_t flat = 1;
    for (int64_t extent : type.getShape().drop_front(dynamic))
      flat *= extent;
    SmallVector<int64_t> flatShape(dynamic, ShapedType::kDynamic);
    flatShape.push_back(flat);
    SmallVector<OpFoldResult> flatExtents(extents.begin(), extents.begin() + dynamic);
    flatExtents.push_back(rewriter.getIndexAttr(flat));
    auto flatType = type.clone(flatShape);
    Value through =
        reshape(rewriter, op.getLoc(), input, flatType, groupsOf(inputType.getRank()), flatExtents);
    rewriter.replaceOp(
        op, reshape(rewriter, op.getLoc(), through, type, groupsOf(type.getRank()), targetExtents));
    return success();
  }

  static Value reshape(OpBuilder &builder, Location loc, Value input, RankedTensorType type,
                       ArrayRef<ReassociationIndices> groups, ArrayRef<OpFoldResult> extents) {
    if (tensorTypeOf(input).getRank() > type.getRank())
      return tensor::CollapseShapeOp::create(builder, loc, type, input, groups);
    if (tensorTypeOf(input).getRank() == type.getRank())
      return input;
    return tensor::ExpandShapeOp::create(builder, loc, type, input, groups, extents);
  }
};

struct LowerBroadcastLike : OpConversionPattern<BroadcastLikeOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(BroadcastLikeOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(getTypeConverter()->convertType(op.getType()));
    Value empty = emptyFrom(rewriter, op.getLoc(), type, adaptor.getLike());
    rewriter.replaceOp(op,
                       buildElementwise(rewriter, op.getLoc(), adaptor.getInput(), empty,
                                        [](OpBuilder &, Location, ValueRange inputs, ValueRange) {
                                          return SmallVector<Value>{inputs[0]};
                                        }));
    return success();
  }
};

struct LowerTranspose : OpConversionPattern<TransposeOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(TransposeOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value input = adaptor.getInput();
    SmallVector<OpFoldResult> extents =
                                  extentsFrom(rewriter, op.getLoc(), tensorTypeOf(input), input),
                              permuted;
    SmallVector<AffineExpr> exprs(extents.size());
    for (auto [i, d] : llvm::enumerate(op.getPermutation())) {
      permuted.push_back(extents[d]);
      exprs[d] = rewriter.getAffineDimExpr(i);
    }
    Value empty = tensor::EmptyOp::create(rewriter, op.getLoc(), permuted, elementTypeOf(input));
    AffineMap map = AffineMap::get(extents.size(), 0, exprs, getContext());
    rewriter.replaceOp(op, copyThrough(rewriter, op.getLoc(), input, empty, map));
    return success();
  }
};

/// Writes `part` into `whole` from `offset` on along `axis`.
Value insertAlong(OpBuilder &builder, Location loc, Value part, Value whole, int64_t axis,
                  int64_t offset) {
  auto type = tensorTypeOf(part);
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), builder.getIndexAttr(1));
  offsets[axis] = builder.getIndexAttr(offset);
  return tensor::InsertSliceOp::create(builder, loc, part, whole, offsets,
                                       extentsFrom(builder, loc, type, part), strides);
}

struct LowerConcatenate : OpConversionPattern<ConcatenateOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(ConcatenateOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(getTypeConverter()->convertType(op.getType()));
    ValueRange parts = adaptor.getInputs();
    if (parts.size() == 1) {
      rewriter.replaceOp(op, parts.front());
      return success();
    }
    Value empty = emptyFrom(rewriter, op.getLoc(), type, parts.front());
    rewriter.replaceOpWithNewOp<mpcrt::ConcatenateOp>(op, TypeRange(type), parts, empty,
                                                      op.getAxis());
    return success();
  }
};

struct LowerSlice : OpConversionPattern<SliceOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(SliceOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value input = adaptor.getInput();
    auto type = cast<RankedTensorType>(getTypeConverter()->convertType(op.getType()));
    SmallVector<OpFoldResult> offsets(type.getRank(), rewriter.getIndexAttr(0));
    SmallVector<OpFoldResult> strides(type.getRank(), rewriter.getIndexAttr(1));
    SmallVector<OpFoldResult> sizes =
        extentsFrom(rewriter, op.getLoc(), tensorTypeOf(input), input);
    offsets[op.getAxis()] = rewriter.getIndexAttr(op.getOffset());
    sizes[op.getAxis()] = rewriter.getIndexAttr(op.getSize());
    rewriter.replaceOpWithNewOp<tensor::ExtractSliceOp>(op, type, input, offsets, sizes, strides);
    return success();
  }
};

struct LowerPad : OpConversionPattern<PadOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(PadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value input = adaptor.getInput();
    Value scalar =
        scalarOf(rewriter, op.getLoc(), elementTypeOf(input), op.getValue().convertToDouble());
    Value whole = filledFrom(rewriter, op.getLoc(), op.getType(), input, scalar);
    rewriter.replaceOp(op,
                       insertAlong(rewriter, op.getLoc(), input, whole, op.getAxis(), op.getLow()));
    return success();
  }
};

/// 1 where the index equals that along the new last dimension; compared as integers.
struct LowerOneHot : OpConversionPattern<OneHotOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(OneHotOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value indices = adaptor.getIndices();
    auto type = op.getResult().getType();
    auto resultType = cast<RankedTensorType>(type);
    int64_t rank = resultType.getRank();
    SmallVector<OpFoldResult> extents =
        extentsFrom(rewriter, op.getLoc(), tensorTypeOf(indices), indices);
    extents.push_back(rewriter.getIndexAttr(resultType.getShape().back()));
    Type element = resultType.getElementType(), i64 = rewriter.getI64Type();
    Type declared = elementTypeOf(op.getIndices());
    Value empty = tensor::EmptyOp::create(rewriter, op.getLoc(), extents, element);
    SmallVector<AffineMap> maps{dropMap(getContext(), rank, rank - 1),
                                rewriter.getMultiDimIdentityMap(rank)};
    rewriter.replaceOp(
        op,
        buildReduction(rewriter, op.getLoc(), indices, empty, maps, {},
                       [&](OpBuilder &builder, Location loc, ValueRange inputs, ValueRange) {
                         Value index = castScalar(builder, loc, inputs[0], declared, i64);
                         Value position = arith::IndexCastOp::create(
                             builder, loc, i64, linalg::IndexOp::create(builder, loc, rank - 1));
                         Value equal = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                                             index, position);
                         return SmallVector<Value>{arith::SelectOp::create(
                             builder, loc, equal, scalarOf(builder, loc, element, 1),
                             scalarOf(builder, loc, element, 0))};
                       }));
    return success();
  }
};
} // namespace

void mpc::populateMovementPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerBroadcastLike, LowerConcatenate, LowerConstant, LowerOneHot, LowerPad,
               LowerReshape, LowerSlice, LowerTranspose>(converter, patterns.getContext());
}
