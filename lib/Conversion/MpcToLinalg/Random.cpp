// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dropout, noise and the random state.
#include "dialects/mpc/IR/Mpc.h"
#include "lib/Conversion/MpcToLinalg/Generic.h"
#include "lib/Conversion/MpcToLinalg/Patterns.h"
#include "lib/Conversion/MpcToLinalg/Philox.h"
#include "lib/Conversion/MpcToLinalg/Scalar.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace mpc;

/// Whether dropout keeps the element of the index.
static Value isKept(OpBuilder &b, Location l, Value index, Value seed, Value call, uint32_t stream,
                    double rate) {
  Philox philox{b, l};
  Value word = philox.words(
      {philox.low(index), philox.high(index), philox.constant(stream), philox.low(call)},
      {philox.low(seed), philox.high(seed)})[0];
  Value top = arith::ShRUIOp::create(b, l, word, philox.constant(8));
  // top * 2^-24 >= rate, in integers.
  Value limit = philox.constant(uint32_t(std::ceil(std::ldexp(rate, 24))));
  return arith::CmpIOp::create(b, l, arith::CmpIPredicate::uge, top, limit);
}

/// The map of `rank` loops to one of the two words of the state.
static AffineMap pickWord(MLIRContext *context, unsigned rank, int64_t word) {
  return AffineMap::get(rank, 0, getAffineConstantExpr(word, context));
}

namespace {
/// The words of a state as operands of a body that computes one element.
struct StateWords {
  StateWords(Value state, unsigned rank)
      : words(std::min<int64_t>(tensorTypeOf(state).getDimSize(0), 3), state) {
    for (size_t word = 0; word != words.size(); ++word)
      maps.push_back(pickWord(state.getContext(), rank, word));
  }
  /// The number of the first sample, among the body's scalars for these words; null: 0.
  static Value firstSample(ValueRange scalars) { return scalars.size() > 2 ? scalars[2] : Value(); }

  SmallVector<Value> words;
  SmallVector<AffineMap> maps;
};
} // namespace

Value mpc::buildKeptElements(OpBuilder &builder, Location loc, Value empty, Value state,
                             int64_t stream, double rate) {
  auto type = cast<RankedTensorType>(empty.getType());
  StateWords words(state, type.getRank());
  words.maps.push_back(builder.getMultiDimIdentityMap(type.getRank()));
  return buildReduction(builder, loc, words.words, empty, words.maps, {},
                        [&](OpBuilder &b, Location l, ValueRange scalars, ValueRange) {
                          Value index = elementIndex(b, l, type.getShape(), {},
                                                     StateWords::firstSample(scalars));
                          return SmallVector<Value>{
                              isKept(b, l, index, scalars[0], scalars[1], uint32_t(stream), rate)};
                        })[0];
}

namespace {
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

    AffineMap identity = rewriter.getMultiDimIdentityMap(type.getRank());
    Value empty = emptyFrom(rewriter, loc, type, adaptor.getInput());
    StateWords words(adaptor.getState(), type.getRank());
    words.words.push_back(adaptor.getInput());
    words.maps.append(2, identity);
    Value result = buildReduction(
        rewriter, loc, words.words, empty, words.maps, {},
        [&](OpBuilder &b, Location l, ValueRange scalars, ValueRange) {
          ValueRange state = scalars.drop_back();
          Value index = elementIndex(b, l, shape, noise, StateWords::firstSample(state));
          Value keep = isKept(b, l, index, state[0], state[1], stream, rate);
          Value x = widen(b, l, scalars.back());
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

/// Numbers in the shape of the op's `like`. `numberOf` makes a float32 of the first two words of an
/// element's block, each shifted to 24 bits, which are exact in float32.
template <typename Op, typename Number>
LogicalResult lowerNoise(Op op, typename Op::Adaptor adaptor, ConversionPatternRewriter &rewriter,
                         Number numberOf) {
  Location loc = op.getLoc();
  auto type = tensorTypeOf(adaptor.getLike());
  for (int64_t d = 1; d < type.getRank(); ++d)
    if (type.isDynamicDim(d))
      return rewriter.notifyMatchFailure(op, "the batch is not the first dimension");
  Value empty = emptyFrom(rewriter, loc, type, adaptor.getLike());
  StateWords stateWords(adaptor.getState(), type.getRank());
  stateWords.maps.push_back(rewriter.getMultiDimIdentityMap(type.getRank()));
  Value result = buildReduction(
      rewriter, loc, stateWords.words, empty, stateWords.maps, {},
      [&](OpBuilder &b, Location l, ValueRange scalars, ValueRange) {
        Philox philox{b, l};
        Value index = elementIndex(b, l, type.getShape(), {}, StateWords::firstSample(scalars));
        auto words = philox.words({philox.low(index), philox.high(index),
                                   philox.constant(op.getStream()), philox.low(scalars[1])},
                                  {philox.low(scalars[0]), philox.high(scalars[0])});
        auto bits = [&](Value word) -> Value {
          Value top = arith::ShRUIOp::create(b, l, word, philox.constant(8));
          return arith::UIToFPOp::create(b, l, b.getF32Type(), top);
        };
        Value noise = numberOf(b, l, bits(words[0]), bits(words[1]));
        Type element = type.getElementType();
        noise = element.isF64() ? Value(arith::ExtFOp::create(b, l, element, noise))
                                : roundTo(b, l, noise, element);
        return SmallVector<Value>{noise};
      })[0];
  rewriter.replaceOp(op, result);
  return success();
}

/// mean + stddev * sqrt(-2 ln u) cos(2 pi v) (Box and Muller, 1958), in float32.
struct LowerNormalNoise : OpConversionPattern<NormalNoiseOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(NormalNoiseOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    return lowerNoise(
        op, adaptor, rewriter, [&](OpBuilder &b, Location l, Value first, Value second) -> Value {
          auto constant = [&](double value) { return scalarOf(b, l, b.getF32Type(), value); };
          auto mul = [&](Value x, Value y) -> Value { return arith::MulFOp::create(b, l, x, y); };
          Value u = mul(arith::AddFOp::create(b, l, first, constant(0.5)), constant(0x1p-24));
          Value angle = mul(second, constant(2 * M_PI * 0x1p-24));
          Value radius =
              math::SqrtOp::create(b, l, mul(constant(-2), math::LogOp::create(b, l, u)));
          Value z = mul(radius, math::CosOp::create(b, l, angle));
          return arith::AddFOp::create(b, l, mul(z, constant(op.getStddev().convertToDouble())),
                                       constant(op.getMean().convertToDouble()));
        });
  }
};

/// low + (high - low) u, in float32.
struct LowerUniformNoise : OpConversionPattern<UniformNoiseOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(UniformNoiseOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const double low = op.getLow().convertToDouble(), high = op.getHigh().convertToDouble();
    return lowerNoise(
        op, adaptor, rewriter, [&](OpBuilder &b, Location l, Value first, Value) -> Value {
          auto constant = [&](double value) { return scalarOf(b, l, b.getF32Type(), value); };
          Value part = arith::MulFOp::create(b, l, first, constant((high - low) * 0x1p-24));
          return arith::AddFOp::create(b, l, part, constant(low));
        });
  }
};

/// (seed, counter), each word grown by its number of `growth`.
Value grow(OpBuilder &builder, Location loc, Value state, std::array<uint64_t, 2> growth) {
  Value empty = emptyFrom(builder, loc, tensorTypeOf(state), {});
  return buildElementwise(
      builder, loc, state, empty, [&](OpBuilder &b, Location l, ValueRange scalars, ValueRange) {
        auto number = [&](uint64_t value) -> Value {
          return arith::ConstantIntOp::create(b, l, b.getI64Type(), int64_t(value));
        };
        Value isSeed =
            arith::CmpIOp::create(b, l, arith::CmpIPredicate::eq, linalg::IndexOp::create(b, l, 0),
                                  arith::ConstantIndexOp::create(b, l, 0));
        Value added = arith::SelectOp::create(b, l, isSeed, number(growth[0]), number(growth[1]));
        return SmallVector<Value>{arith::AddIOp::create(b, l, scalars[0], added)};
      })[0];
}

struct LowerRandomAdvance : OpConversionPattern<RandomAdvanceOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(RandomAdvanceOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, grow(rewriter, op.getLoc(), adaptor.getState(), {0, 1}));
    return success();
  }
};

struct LowerRandomStep : OpConversionPattern<RandomStepOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(RandomStepOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, grow(rewriter, op.getLoc(), adaptor.getState(), {kStepKey, 0}));
    return success();
  }
};
} // namespace

void mpc::populateRandomPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns
      .add<LowerDropout, LowerNormalNoise, LowerUniformNoise, LowerRandomAdvance, LowerRandomStep>(
          converter, patterns.getContext());
}
