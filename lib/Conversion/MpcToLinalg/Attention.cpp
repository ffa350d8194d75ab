// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention and its derivative: library calls, as they stand.
#include "dialects/mpc/IR/Mpc.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Conversion/MpcToLinalg/Generic.h"
#include "lib/Conversion/MpcToLinalg/Patterns.h"
#include "lib/Conversion/MpcToLinalg/Philox.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mpc/Analysis/LayerPath.h"

using namespace mlir;
using namespace mpc;

namespace {
/// Where dropout keeps probabilities, and by what it multiplies them; null without dropout.
struct Kept {
  Value elements;
  FloatAttr scale;
};
} // namespace

/// Attention and its derivative build the same, which CSE finds.
template <typename Op>
static FailureOr<Kept> buildKept(OpBuilder &builder, Op op, typename Op::Adaptor adaptor) {
  if (!op.getState())
    return Kept{};
  Location loc = op.getLoc();
  ArrayRef<int64_t> query = tensorTypeOf(op.getQuery()).getShape();
  const int64_t extents[] = {query[2], query[1], tensorTypeOf(op.getKey()).getShape()[1]};
  if (ShapedType::isDynamicShape(extents))
    return failure();
  SmallVector<OpFoldResult> shape = getAsIndexOpFoldResult(op.getContext(), extents);
  shape.insert(shape.begin(), extentOf(builder, loc, adaptor.getQuery(), 0));
  Value empty = tensor::EmptyOp::create(builder, loc, shape, builder.getI1Type());
  const double rate = op.getRate()->convertToDouble();
  // The scale is a number of the probabilities' type, as in mpc.dropout.
  const double scale = roundTo(elementTypeOf(op.getQuery()), 1 / (1 - rate));
  return Kept{buildKeptElements(builder, loc, empty, adaptor.getState(), *op.getStream(), rate),
              builder.getF64FloatAttr(scale)};
}

static mpcrt::AttendOp makeCall(OpBuilder &builder, AttentionOp op, AttentionOp::Adaptor operands,
                                ArrayRef<Value> results, Kept kept) {
  return mpcrt::AttendOp::create(builder, op.getLoc(), op->getResultTypes(), operands.getQuery(),
                                 operands.getKey(), operands.getValue(), results[0], results[1],
                                 operands.getMask(), kept.elements, op.getScaleAttr(), kept.scale,
                                 op.getCausalAttr(), op.getHiddenScoreAttr(),
                                 builder.getStringAttr(layerPathOf(op.getLoc())));
}

static mpcrt::AttendGradientOp makeCall(OpBuilder &builder, AttentionGradientOp op,
                                        AttentionGradientOp::Adaptor operands,
                                        ArrayRef<Value> results, Kept kept) {
  return mpcrt::AttendGradientOp::create(
      builder, op.getLoc(), op->getResultTypes(), operands.getCotangent(), operands.getResult(),
      operands.getLogSums(), operands.getQuery(), operands.getKey(), operands.getValue(),
      results[0], results[1], results[2], operands.getMask(), kept.elements, op.getScaleAttr(),
      kept.scale, op.getCausalAttr(), op.getHiddenScoreAttr(),
      builder.getStringAttr(layerPathOf(op.getLoc())));
}

namespace {
template <typename Op> struct LowerAttention : OpConversionPattern<Op> {
  using OpConversionPattern<Op>::OpConversionPattern;

  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    FailureOr<Kept> kept = buildKept(rewriter, op, adaptor);
    if (failed(kept))
      return rewriter.notifyMatchFailure(op, "the batch is not the first dimension");
    OpFoldResult batch = extentOf(rewriter, op.getLoc(), adaptor.getOperands().front(), 0);
    SmallVector<Value> results;
    for (Type result : op->getResultTypes()) {
      auto type = cast<RankedTensorType>(result);
      SmallVector<OpFoldResult> extents = getAsIndexOpFoldResult(op.getContext(), type.getShape());
      extents.front() = batch;
      results.push_back(
          tensor::EmptyOp::create(rewriter, op.getLoc(), extents, type.getElementType()));
    }
    rewriter.replaceOp(op, makeCall(rewriter, op, adaptor, results, *kept));
    return success();
  }
};
} // namespace

void mpc::populateAttentionPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerAttention<AttentionOp>, LowerAttention<AttentionGradientOp>>(
      converter, patterns.getContext());
}
