// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dropout by Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11) and
// the random state.
#include "Generic.h"
#include "Patterns.h"
#include "Scalar.h"
#include "dialects/mpc/IR/Mpc.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

using namespace mlir;
using namespace mpc;

namespace {
/// 32-bit integer arithmetic for the generator.
struct Philox {
  OpBuilder &builder;
  Location loc;

  Value constant(uint32_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(builder.getI32Type(), int32_t(value)));
  }
  Value low(Value i64) { return arith::TruncIOp::create(builder, loc, builder.getI32Type(), i64); }
  Value high(Value i64) {
    Value thirtyTwo = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(32));
    return low(arith::ShRUIOp::create(builder, loc, i64, thirtyTwo));
  }
  Value add(Value a, uint32_t b) { return arith::AddIOp::create(builder, loc, a, constant(b)); }
  Value exclusiveOr(Value a, Value b) { return arith::XOrIOp::create(builder, loc, a, b); }

  /// First output word for a counter of four words and a key of two.
  Value firstWord(std::array<Value, 4> c, std::array<Value, 2> key) {
    for (int round = 0; round < 10; ++round) {
      auto p0 = arith::MulUIExtendedOp::create(builder, loc, c[0], constant(0xD2511F53));
      auto p1 = arith::MulUIExtendedOp::create(builder, loc, c[2], constant(0xCD9E8D57));
      c = {exclusiveOr(exclusiveOr(p1.getHigh(), c[1]), key[0]), p1.getLow(),
           exclusiveOr(exclusiveOr(p0.getHigh(), c[3]), key[1]), p0.getLow()};
      key = {add(key[0], 0x9E3779B9), add(key[1], 0xBB67AE85)};
    }
    return c[0];
  }
};

/// Row-major place of an element in the noise's shape, where extents of 1 repeat. `extents` are
/// those of the input.
Value elementIndex(OpBuilder &builder, Location loc, ArrayRef<int64_t> shape,
                   ArrayRef<int64_t> noise) {
  Value place = arith::ConstantOp::create(builder, loc, builder.getIndexAttr(0));
  for (auto [d, extent] : llvm::enumerate(shape)) {
    bool repeats = !noise.empty() && noise[d] == 1;
    if (repeats)
      continue;
    // Only the first extent is dynamic, and the first one is never a stride.
    if (d > 0) {
      Value stride = arith::ConstantOp::create(builder, loc, builder.getIndexAttr(extent));
      place = arith::MulIOp::create(builder, loc, place, stride);
    }
    place = arith::AddIOp::create(builder, loc, place, linalg::IndexOp::create(builder, loc, d));
  }
  return arith::IndexCastUIOp::create(builder, loc, builder.getI64Type(), place);
}

struct LowerDropout : OpConversionPattern<DropoutOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(DropoutOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = tensorTypeOf(adaptor.getInput());
    ArrayRef<int64_t> shape = type.getShape();
    for (int64_t d = 1; d < type.getRank(); ++d)
      if (type.isDynamicDim(d))
        return rewriter.notifyMatchFailure(op, "the batch is not the first dimension");
    ArrayRef<int64_t> noise = op.getNoiseShape().value_or(ArrayRef<int64_t>());
    for (auto [d, extent] : llvm::enumerate(noise))
      if (extent != 1 && extent != -1 && extent != shape[d])
        return rewriter.notifyMatchFailure(op, "noise_shape does not broadcast to the input");
    double rate = op.getRate().convertToDouble();
    uint32_t stream = op.getStream();

    MLIRContext *context = getContext();
    auto pick = [&](int64_t word) {
      return AffineMap::get(type.getRank(), 0, getAffineConstantExpr(word, context));
    };
    AffineMap identity = rewriter.getMultiDimIdentityMap(type.getRank());
    Value empty = emptyFrom(rewriter, loc, type, adaptor.getInput());
    Value state = adaptor.getState();
    Value result = buildReduction(
        rewriter, loc, {adaptor.getInput(), state, state}, empty,
        {identity, pick(0), pick(1), identity}, {},
        [&](OpBuilder &b, Location l, ValueRange scalars, ValueRange) {
          Philox philox{b, l};
          Value place = elementIndex(b, l, shape, noise);
          Value word = philox.firstWord({philox.low(place), philox.high(place),
                                         philox.constant(stream), philox.low(scalars[2])},
                                        {philox.low(scalars[1]), philox.high(scalars[1])});
          Value top = arith::ShRUIOp::create(b, l, word, philox.constant(8));
          // top * 2^-24 >= rate, in integers.
          Value limit = philox.constant(uint32_t(std::ceil(std::ldexp(rate, 24))));
          Value keep = arith::CmpIOp::create(b, l, arith::CmpIPredicate::uge, top, limit);
          Value x = widen(b, l, scalars[0]);
          // Keras's scale is a number of the input's type.
          Value scale = widen(b, l, scalarOf(b, l, type.getElementType(), 1 / (1 - rate)));
          Value scaled = arith::MulFOp::create(b, l, x, scale);
          Value kept = arith::SelectOp::create(b, l, keep, scaled, scalarOf(b, l, x.getType(), 0));
          return SmallVector<Value>{roundTo(b, l, kept, type.getElementType())};
        })[0];
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// Adds (0, 1) to (seed, counter): each word grows by its place.
struct LowerRandomAdvance : OpConversionPattern<RandomAdvanceOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(RandomAdvanceOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value state = adaptor.getState();
    Value empty = emptyFrom(rewriter, op.getLoc(), tensorTypeOf(state), {});
    rewriter.replaceOp(
        op, buildElementwise(rewriter, op.getLoc(), state, empty,
                             [](OpBuilder &b, Location l, ValueRange scalars, ValueRange) {
                               Value place = arith::IndexCastOp::create(
                                   b, l, b.getI64Type(), linalg::IndexOp::create(b, l, 0));
                               return SmallVector<Value>{
                                   arith::AddIOp::create(b, l, scalars[0], place)};
                             }));
    return success();
  }
};
} // namespace

void mpc::populateRandomPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerDropout, LowerRandomAdvance>(converter, patterns.getContext());
}
