// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Softmax, its logarithm and the fused cross-entropy as chains over rows: float32 (float64) between
// the links, one rounding at the end. No link mixes rows, so a tiling over rows merges them.
#include "dialects/mpc/IR/Mpc.h"
#include "lib/Conversion/MpcToLinalg/Generic.h"
#include "lib/Conversion/MpcToLinalg/Patterns.h"
#include "lib/Conversion/MpcToLinalg/Scalar.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace mpc;

namespace {
/// Links of the chain along one axis of a tensor.
struct Row {
  OpBuilder &builder;
  Location loc;
  Value input;
  int64_t axis;
  RankedTensorType type = tensorTypeOf(input);
  Type wide = widerOf32(type.getElementType());
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  AffineMap kept = dropMap(builder.getContext(), type.getRank(), axis);

  using Body = llvm::function_ref<Value(OpBuilder &, Location, ValueRange)>;

  Value destination(double start) {
    SmallVector<OpFoldResult> extents = extentsFrom(builder, loc, type, input);
    extents.erase(extents.begin() + axis);
    Value empty = tensor::EmptyOp::create(builder, loc, extents, wide);
    return linalg::FillOp::create(builder, loc, scalarOf(builder, loc, wide, start), empty)
        .getResult(0);
  }

  SmallVector<AffineMap> mapsOf(ValueRange inputs) {
    SmallVector<AffineMap> maps;
    for (Value value : inputs)
      maps.push_back(tensorTypeOf(value).getRank() == type.getRank() ? identity : kept);
    return maps;
  }

  /// Sums `body` along the axis; inputs of one rank less repeat along it.
  Value sum(ValueRange inputs, Body body) {
    SmallVector<AffineMap> maps = mapsOf(inputs);
    maps.push_back(kept);
    return buildReduction(builder, loc, inputs, destination(0), maps, axis,
                          [&](OpBuilder &b, Location l, ValueRange scalars, ValueRange sums) {
                            return SmallVector<Value>{arith::AddFOp::create(
                                b, l, sums[0], body(b, l, scalars), arith::FastMathFlags::reassoc)};
                          })[0];
  }

  Value max() {
    return buildReduction(builder, loc, input,
                          destination(-std::numeric_limits<double>::infinity()), {identity, kept},
                          axis, [&](OpBuilder &b, Location l, ValueRange scalars, ValueRange best) {
                            return SmallVector<Value>{
                                arith::MaximumFOp::create(b, l, best[0], widen(b, l, scalars[0]))};
                          })[0];
  }

  /// log of one number per row.
  Value log(Value sums) {
    Value empty = emptyFrom(builder, loc, tensorTypeOf(sums), sums);
    return buildElementwise(builder, loc, sums, empty,
                            [](OpBuilder &b, Location l, ValueRange scalars, ValueRange) {
                              return SmallVector<Value>{math::LogOp::create(b, l, scalars[0])};
                            })[0];
  }

  /// `body` for each element, in `element`, rounded if that is narrower.
  Value map(ValueRange inputs, Type element, Body body) {
    SmallVector<AffineMap> maps = mapsOf(inputs);
    maps.push_back(identity);
    Value empty = emptyFrom(builder, loc, type.clone(element), input);
    return buildReduction(builder, loc, inputs, empty, maps, {},
                          [&](OpBuilder &b, Location l, ValueRange scalars, ValueRange) {
                            return SmallVector<Value>{roundTo(b, l, body(b, l, scalars), element)};
                          })[0];
  }
};

/// e^(x - max): the largest term is 1, so that nothing overflows.
Value shiftedExp(OpBuilder &b, Location l, ValueRange scalars) {
  Value shifted = arith::SubFOp::create(b, l, widen(b, l, scalars[0]), scalars[1]);
  return math::ExpOp::create(b, l, shifted);
}

struct LowerSoftmax : OpConversionPattern<SoftmaxOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(SoftmaxOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Row row{rewriter, op.getLoc(), adaptor.getInput(), int64_t(op.getAxis())};
    Value max = row.max();
    Value powers = row.map({adaptor.getInput(), max}, row.wide, shiftedExp);
    Value sum =
        row.sum(powers, [](OpBuilder &, Location, ValueRange scalars) { return scalars[0]; });
    rewriter.replaceOp(op, row.map({powers, sum}, row.type.getElementType(),
                                   [](OpBuilder &b, Location l, ValueRange scalars) -> Value {
                                     return arith::DivFOp::create(b, l, scalars[0], scalars[1]);
                                   }));
    return success();
  }
};

struct LowerLogSoftmax : OpConversionPattern<LogSoftmaxOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(LogSoftmaxOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Row row{rewriter, op.getLoc(), adaptor.getInput(), int64_t(op.getAxis())};
    Value max = row.max();
    Value logSum = row.log(row.sum({adaptor.getInput(), max}, shiftedExp));
    rewriter.replaceOp(op, row.map({adaptor.getInput(), max, logSum}, row.type.getElementType(),
                                   [](OpBuilder &b, Location l, ValueRange s) -> Value {
                                     Value shifted =
                                         arith::SubFOp::create(b, l, widen(b, l, s[0]), s[1]);
                                     return arith::SubFOp::create(b, l, shifted, s[2]);
                                   }));
    return success();
  }
};

/// sum(target * (log(sum e^(x - max)) - (x - max))), as TensorFlow's fused kernel computes it
/// (tensorflow/core/kernels/xent_op.h).
struct LowerSoftmaxCrossEntropy : OpConversionPattern<SoftmaxCrossEntropyOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(SoftmaxCrossEntropyOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value logits = adaptor.getLogits();
    Row row{rewriter, op.getLoc(), logits, tensorTypeOf(logits).getRank() - 1};
    Value max = row.max();
    Value logSum = row.log(row.sum({logits, max}, shiftedExp));
    Value loss = row.sum({logits, max, logSum, adaptor.getTarget()},
                         [](OpBuilder &b, Location l, ValueRange s) -> Value {
                           Value shifted = arith::SubFOp::create(b, l, widen(b, l, s[0]), s[1]);
                           Value term = arith::SubFOp::create(b, l, s[2], shifted);
                           return arith::MulFOp::create(b, l, widen(b, l, s[3]), term);
                         });
    if (row.wide != row.type.getElementType()) {
      Type element = row.type.getElementType();
      Value empty = emptyFrom(rewriter, op.getLoc(), tensorTypeOf(loss).clone(element), loss);
      loss = buildElementwise(rewriter, op.getLoc(), loss, empty,
                              [&](OpBuilder &b, Location l, ValueRange scalars, ValueRange) {
                                return SmallVector<Value>{roundTo(b, l, scalars[0], element)};
                              })[0];
    }
    rewriter.replaceOp(op, loss);
    return success();
  }
};
} // namespace

void mpc::populateSoftmaxPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerLogSoftmax, LowerSoftmax, LowerSoftmaxCrossEntropy>(converter,
                                                                        patterns.getContext());
}
