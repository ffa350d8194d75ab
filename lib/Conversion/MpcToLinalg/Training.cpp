// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The training step: gradient seed, finite test, loss-scale update, and the optimizer's one pass
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
#include "llvm/ADT/SetVector.h"

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
                                   op.getByElements(), op.getAlways());
    rewriter.replaceOp(op, reduced.getResults());
    return success();
  }
};

/// The largest bit pattern without its sign tells: infinities and NaN have the largest exponent, so
/// one unsigned maximum per gradient and one comparison at the end suffice, and both vectorise.
struct LowerAllFinite : OpConversionPattern<AllFiniteOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(AllFiniteOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SmallVector<Value> largest;
    SmallVector<llvm::APInt> infinities;
    for (Value gradient : adaptor.getInputs()) {
      auto type = tensorTypeOf(gradient);
      auto element = cast<FloatType>(type.getElementType());
      Type bits = rewriter.getIntegerType(element.getWidth());
      infinities.push_back(llvm::APFloat::getInf(element.getFloatSemantics()).bitcastToAPInt());
      Value start = filledFrom(rewriter, loc, RankedTensorType::get({}, bits), {},
                               scalarOf(rewriter, loc, bits, 0));
      SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
      SmallVector<AffineMap> maps{rewriter.getMultiDimIdentityMap(type.getRank()),
                                  AffineMap::get(type.getRank(), 0, getContext())};
      auto magnitude = llvm::APInt::getSignedMaxValue(element.getWidth());
      largest.push_back(buildReduction(
          rewriter, loc, gradient, start, maps, all,
          [&](OpBuilder &b, Location l, ValueRange scalars, ValueRange top) {
            Value pattern = arith::BitcastOp::create(b, l, bits, scalars[0]);
            Value mask = arith::ConstantOp::create(b, l, b.getIntegerAttr(bits, magnitude));
            Value unsignedPattern = arith::AndIOp::create(b, l, pattern, mask);
            return SmallVector<Value>{arith::MaxUIOp::create(b, l, top[0], unsignedPattern)};
          })[0]);
    }
    Value empty = tensor::EmptyOp::create(rewriter, loc, ArrayRef<int64_t>(), rewriter.getI1Type());
    rewriter.replaceOp(
        op,
        buildElementwise(rewriter, loc, largest, empty,
                         [&](OpBuilder &b, Location l, ValueRange scalars, ValueRange) {
                           Value finite = scalarOf(b, l, b.getI1Type(), 1);
                           for (auto [pattern, infinity] : llvm::zip_equal(scalars, infinities)) {
                             Value limit = arith::ConstantOp::create(
                                 b, l, b.getIntegerAttr(pattern.getType(), infinity));
                             Value below = arith::CmpIOp::create(b, l, arith::CmpIPredicate::ult,
                                                                 pattern, limit);
                             finite = arith::AndIOp::create(b, l, finite, below);
                           }
                           return SmallVector<Value>{finite};
                         }));
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
                           op.getLayerAttr(), op.getSourcesAttr(), op.getScaledAttr());
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
  patterns.add<LowerAllFinite, LowerAllReduce, LowerGradientSeed, LowerLossScaleUpdate, LowerTrace,
               LowerVariableGradient>(converter, patterns.getContext());
}
