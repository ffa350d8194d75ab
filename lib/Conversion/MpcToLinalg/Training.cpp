// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The training step: gradient seed, loss-scale update, and the optimizer's one pass
// over memory.
#include "dialects/mpc/IR/Mpc.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Conversion/MpcToLinalg/Generic.h"
#include "lib/Conversion/MpcToLinalg/Patterns.h"
#include "lib/Conversion/MpcToLinalg/Scalar.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mpc/Analysis/LayerPath.h"
#include "runtime/rules/loss_scale.h"

using namespace mlir;
using namespace mpc;

namespace {
struct LowerGradientSeed : OpConversionPattern<GradientSeedOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(GradientSeedOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<ConstantOp>(op, cast<RankedTensorType>(op.getResult().getType()),
                                            1.0);
    return success();
  }
};

/// A mark without a value of its own.
struct LowerVariableGradient : OpConversionPattern<VariableGradientOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(VariableGradientOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, adaptor.getGradient());
    return success();
  }
};

struct LowerAllReduce : OpConversionPattern<AllReduceOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(AllReduceOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto reduced =
        mpcrt::AllReduceOp::create(rewriter, op.getLoc(), TypeRange(adaptor.getInput().getType()),
                                   op.getKind(), adaptor.getInput(), /*bucket=*/0,
                                   /*endsBucket=*/false, op.getBefore(), layerPathOf(op.getLoc()),
                                   op.getByElements(), op.getAlways(), op.getInBfloat16());
    rewriter.replaceOp(op, reduced.getResults());
    return success();
  }
};

/// Reports stay as they are, in their place.
struct LowerTrace : OpConversionPattern<TraceOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(TraceOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    mpcrt::TraceOp::create(rewriter, op.getLoc(), adaptor.getValue(), adaptor.getBefore(),
                           op.getDirectionAttr(), op.getSlotAttr(), op.getOpAttr(),
                           op.getLayerAttr(), op.getSourcesAttr(), op.getScaledAttr(),
                           op.getFormatAttr());
    rewriter.eraseOp(op);
    return success();
  }
};

/// The loss-scale rule's arithmetic as ops.
struct ValueArithmetic {
  OpBuilder &builder;
  Location loc;

  Value number(float value) { return scalarOf(builder, loc, builder.getF32Type(), value); }
  Value integer(int64_t value) {
    return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
  }
  Value multiply(Value one, Value other) { return arith::MulFOp::create(builder, loc, one, other); }
  Value magnitude(Value value) { return math::AbsFOp::create(builder, loc, value); }
  Value less(Value one, Value other) {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, one, other);
  }
  Value equal(Value one, Value other) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, one, other);
  }
  Value successor(Value value) { return arith::AddIOp::create(builder, loc, value, integer(1)); }
  Value select(Value truth, Value one, Value other) {
    return arith::SelectOp::create(builder, loc, truth, one, other);
  }
};

struct LowerLossScaleUpdate : OpConversionPattern<LossScaleUpdateOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(LossScaleUpdateOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value scaleOut = emptyFrom(rewriter, loc, tensorTypeOf(adaptor.getScale()), {});
    Value counterOut = emptyFrom(rewriter, loc, tensorTypeOf(adaptor.getCounter()), {});
    rewriter.replaceOp(
        op, buildElementwise(
                rewriter, loc, {adaptor.getScale(), adaptor.getCounter(), adaptor.getFinite()},
                {scaleOut, counterOut}, [&](OpBuilder &b, Location l, ValueRange s, ValueRange) {
                  ValueArithmetic values{b, l};
                  auto next = rules::advanceLossScale(values, s[0], s[1], s[2], op.getRule());
                  return SmallVector<Value>{next.scale, next.counter};
                }));
    return success();
  }
};
} // namespace

void mpc::populateTrainingPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerAllReduce, LowerGradientSeed, LowerLossScaleUpdate, LowerTrace,
               LowerVariableGradient>(converter, patterns.getContext());
}
