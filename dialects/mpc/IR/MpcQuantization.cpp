// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ops of quantized layers: scalar code, reference values, derivatives.
#include "dialects/mpc/IR/Float8.h"
#include "dialects/mpc/IR/Mpc.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace mpc;

// ---- round --------------------------------------------------------------------------------------

Value RoundOp::buildScalar(OpBuilder &b, ValueRange scalars) {
  return math::RoundEvenOp::create(b, getLoc(), scalars[0]);
}

double RoundOp::evaluateScalar(ArrayRef<double> scalars) { return std::nearbyint(scalars[0]); }

LogicalResult RoundOp::buildVjp(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) {
  return success();
}

// ---- round_float8 -------------------------------------------------------------------------------

static LogicalResult verifyFormat(Operation *op, Type format) {
  if (isa<Float8E4M3FNType, Float8E5M2Type>(format))
    return success();
  return op->emitOpError() << "format must be f8E4M3FN or f8E5M2, got " << format;
}

/// The largest number of a float8 format.
static double largestOf(Type format) {
  return llvm::APFloat::getLargest(cast<FloatType>(format).getFloatSemantics()).convertToDouble();
}

LogicalResult RoundFloat8Op::verify() { return verifyFormat(*this, getFormat()); }

/// Adding 2^(e + p - m), where e is the exponent of |x| (of the smallest normal number of the
/// format at least), p the precision of the arithmetic and m that of the format, leaves the sum's
/// last place at the format's: the addition rounds, the subtraction gives the rounded number back.
Value RoundFloat8Op::buildScalar(OpBuilder &b, ValueRange scalars) {
  Location loc = getLoc();
  Value x = scalars[0];
  Type type = x.getType();
  const llvm::fltSemantics &wide = cast<FloatType>(type).getFloatSemantics();
  const llvm::fltSemantics &narrow = cast<FloatType>(getFormat()).getFloatSemantics();
  const unsigned width = type.getIntOrFloatBitWidth();
  const unsigned fraction = llvm::APFloat::semanticsPrecision(wide) - 1;
  const unsigned kept = llvm::APFloat::semanticsPrecision(narrow) - 1;
  Type integer = b.getIntegerType(width);
  auto number = [&](double value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  };
  auto bits = [&](uint64_t value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(integer, llvm::APInt(width, value)));
  };
  const uint64_t exponentMask = llvm::APFloat::getInf(wide).bitcastToAPInt().getZExtValue();
  llvm::APFloat smallest = llvm::APFloat::getSmallestNormalized(narrow);
  bool losesInfo = false;
  smallest.convert(wide, llvm::APFloat::rmNearestTiesToEven, &losesInfo);

  const llvm::APInt signMask = llvm::APInt::getSignMask(width);
  Value own = arith::BitcastOp::create(b, loc, integer, x);
  Value sign = arith::AndIOp::create(b, loc, own, bits(signMask.getZExtValue()));
  Value positive = arith::AndIOp::create(b, loc, own, bits((~signMask).getZExtValue()));
  Value magnitude = arith::BitcastOp::create(b, loc, type, positive);
  Value exponent = arith::AndIOp::create(b, loc, positive, bits(exponentMask));
  exponent =
      arith::MaxUIOp::create(b, loc, exponent, bits(smallest.bitcastToAPInt().getZExtValue()));
  Value shifted =
      arith::AddIOp::create(b, loc, exponent, bits(uint64_t(fraction - kept) << fraction));
  Value shift = arith::BitcastOp::create(b, loc, type, shifted);
  Value rounded =
      arith::SubFOp::create(b, loc, arith::AddFOp::create(b, loc, magnitude, shift), shift);
  // Numbers so large that the exponent would leave its field are too large for the format anyway.
  Value far = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, magnitude, number(1e6));
  Value above = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, rounded,
                                      number(largestOf(getFormat())));
  const bool hasInfinity = isa<Float8E5M2Type>(getFormat());
  Value overflow = number(hasInfinity ? HUGE_VAL : std::nan(""));
  rounded =
      arith::SelectOp::create(b, loc, arith::OrIOp::create(b, loc, far, above), overflow, rounded);
  Value signedBits =
      arith::OrIOp::create(b, loc, arith::BitcastOp::create(b, loc, integer, rounded), sign);
  Value result = arith::BitcastOp::create(b, loc, type, signedBits);
  Value isNaN = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, x);
  auto chosen = arith::SelectOp::create(b, loc, isNaN, x, result);
  // mpc-watch-step finds it.
  chosen->setAttr(MpcDialect::kRoundsToAttr, getFormatAttr());
  return chosen;
}

double RoundFloat8Op::evaluateScalar(ArrayRef<double> scalars) {
  llvm::APFloat value(scalars[0]);
  bool losesInfo = false;
  value.convert(cast<FloatType>(getFormat()).getFloatSemantics(),
                llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToDouble();
}

LogicalResult RoundFloat8Op::buildVjp(OpBuilder &, ValueRange, ArrayRef<bool>,
                                      MutableArrayRef<Value>) {
  return success();
}

// ---- unpack_int4 --------------------------------------------------------------------------------

LogicalResult UnpackInt4Op::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                             ValueRange operands, DictionaryAttr attributes,
                                             OpaqueProperties properties, RegionRange regions,
                                             SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto packed = tensorTypeOf(operands[0]);
  const int64_t extent = adaptor.getExtent();
  if (packed.getRank() == 0 || extent < 0 || packed.getShape().back() != extent / 2 + extent % 2)
    return emitOptionalError(location, "the last dimension must hold ", extent,
                             " numbers, two per byte");
  SmallVector<int64_t> shape(packed.getShape());
  shape.back() = extent;
  types.push_back(packed.clone(shape));
  return success();
}

LogicalResult UnpackInt4Op::evaluate(ArrayRef<ReferenceTensor> operands,
                                     MutableArrayRef<ReferenceTensor> results) {
  const ReferenceTensor &packed = operands[0];
  const int64_t bytes = packed.shape.back(), extent = getExtent();
  SmallVector<int64_t> shape(packed.shape);
  shape.back() = extent;
  startReference(results[0], elementTypeOf(getResult()), shape);
  const bool isUnsigned = elementTypeOf(getResult()).isUnsignedInteger();
  for (int64_t i = 0, count = results[0].size(); i < count; ++i) {
    const int64_t row = i / extent, column = i % extent;
    const int64_t byte = packed.integers[row * bytes + column / 2];
    const int64_t half = (column % 2 ? byte >> 4 : byte) & 15;
    results[0].integers[i] = half < 8 || isUnsigned ? half : half - 16;
  }
  return success();
}

// ---- straight_through ---------------------------------------------------------------------------

Value StraightThroughOp::getInferenceValue() { return getValue(); }

LogicalResult StraightThroughOp::buildVjp(OpBuilder &builder, ValueRange cotangents,
                                          ArrayRef<bool> wanted,
                                          MutableArrayRef<Value> operandCotangents) {
  if (!wanted[1])
    return success();
  Value dy = cotangents[0];
  Type element = elementTypeOf(dy);
  if (getFinite() && element.isF16())
    dy = SelectOp::create(builder, getLoc(), IsFiniteOp::create(builder, getLoc(), dy), dy,
                          scalarConstant(builder, getLoc(), element, 0));
  operandCotangents[1] = dy;
  return success();
}

LogicalResult StraightThroughOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                          MutableArrayRef<ReferenceTensor> results) {
  results[0] = operands[0];
  return success();
}

// ---- float8_quantize, float8_quantize_gradient --------------------------------------------------

Value mpc::scaleForFloat8(OpBuilder &builder, Location loc, Value value, Value &scale,
                          Type format) {
  Type element = elementTypeOf(value);
  const double largest = largestOf(format);
  if (elementTypeOf(scale) != element)
    scale = CastOp::create(builder, loc, tensorTypeOf(scale).clone(element), scale);
  Value scaled = DivideOp::create(builder, loc, value, scale);
  scaled = MaximumOp::create(builder, loc, scaled, scalarConstant(builder, loc, element, -largest));
  return MinimumOp::create(builder, loc, scaled, scalarConstant(builder, loc, element, largest));
}

Value mpc::quantizeFloat8(OpBuilder &builder, Location loc, Value value, Value scale, Type format) {
  Value scaled = scaleForFloat8(builder, loc, value, scale, format);
  Value rounded =
      RoundFloat8Op::create(builder, loc, scaled.getType(), scaled, TypeAttr::get(format));
  return MultiplyOp::create(builder, loc, rounded, scale);
}

/// Keras's compute_float8_scale for the largest number of the history.
static Value nextScale(OpBuilder &builder, Location loc, Value scale, Value history, Type format) {
  auto constant = [&](double value) {
    return scalarConstant(builder, loc, builder.getF32Type(), value);
  };
  Value amax = ReduceOp::create(builder, loc, ReduceKind::Max, history, ArrayRef<int64_t>{0},
                                /*keep_dims=*/false);
  Value inverse = DivideOp::create(builder, loc, constant(1), scale);
  Value wanted = DivideOp::create(builder, loc, constant(largestOf(format)), amax);
  Value positive = CompareOp::create(builder, loc, ComparePredicate::GT, amax, constant(0));
  wanted = SelectOp::create(builder, loc, positive, wanted, inverse);
  wanted = SelectOp::create(builder, loc, IsFiniteOp::create(builder, loc, amax), wanted, inverse);
  return DivideOp::create(builder, loc, constant(1), wanted);
}

/// Keras's compute_float8_amax_history: roll(history, -1) with the first element replaced.
static Value nextHistory(OpBuilder &builder, Location loc, Value value, Value history) {
  auto type = tensorTypeOf(value);
  Value amax = ReduceOp::create(builder, loc, ReduceKind::Max, AbsOp::create(builder, loc, value),
                                llvm::to_vector(llvm::seq<int64_t>(0, type.getRank())),
                                /*keep_dims=*/false);
  auto f32 = builder.getF32Type();
  if (elementTypeOf(amax) != f32)
    amax = CastOp::create(builder, loc, RankedTensorType::get({}, f32), amax);
  SmallVector<Value> parts{
      ReshapeOp::create(builder, loc, RankedTensorType::get({1}, f32), amax).getResult()};
  const int64_t length = tensorTypeOf(history).getDimSize(0);
  if (length > 2)
    parts.push_back(SliceOp::create(builder, loc, history, /*axis=*/0, /*offset=*/2, length - 2));
  if (length > 1)
    parts.push_back(SliceOp::create(builder, loc, history, /*axis=*/0, /*offset=*/0, /*size=*/1));
  return parts.size() == 1 ? parts.front()
                           : Value(ConcatenateOp::create(builder, loc, parts, /*axis=*/0));
}

template <typename Op> static LogicalResult verifyFloat8(Op op) {
  if (tensorTypeOf(op.getAmaxHistory()).getDimSize(0) < 1)
    return op.emitOpError() << "the history must have at least one element";
  return verifyFormat(op, op.getFormat());
}

LogicalResult Float8QuantizeOp::verify() { return verifyFloat8(*this); }
LogicalResult Float8QuantizeGradientOp::verify() { return verifyFloat8(*this); }

Value Float8QuantizeGradientOp::getInferenceValue() { return getInput(); }

/// Both ops differentiate their state alike: `quantized` is the tensor that float8 holds.
template <typename Op>
static void buildStateVjp(Op op, OpBuilder &builder, Value quantized, ArrayRef<bool> wanted,
                          MutableArrayRef<Value> operandCotangents) {
  if (wanted[1])
    operandCotangents[1] =
        nextScale(builder, op.getLoc(), op.getScale(), op.getAmaxHistory(), op.getFormat());
  if (wanted[2])
    operandCotangents[2] = nextHistory(builder, op.getLoc(), quantized, op.getAmaxHistory());
}

LogicalResult Float8QuantizeOp::buildVjp(OpBuilder &builder, ValueRange cotangents,
                                         ArrayRef<bool> wanted,
                                         MutableArrayRef<Value> operandCotangents) {
  if (wanted[0])
    operandCotangents[0] = cotangents[0];
  buildStateVjp(*this, builder, getInput(), wanted, operandCotangents);
  return success();
}

LogicalResult Float8QuantizeGradientOp::buildVjp(OpBuilder &builder, ValueRange cotangents,
                                                 ArrayRef<bool> wanted,
                                                 MutableArrayRef<Value> operandCotangents) {
  if (wanted[0])
    operandCotangents[0] =
        quantizeFloat8(builder, getLoc(), cotangents[0], getScale(), getFormat());
  buildStateVjp(*this, builder, cotangents[0], wanted, operandCotangents);
  return success();
}

LogicalResult Float8QuantizeOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                         MutableArrayRef<ReferenceTensor> results) {
  const ReferenceTensor &input = operands[0];
  Type element = input.elementType;
  startReference(results[0], element, input.shape);
  const double scale = roundTo(element, operands[1].floats[0]), largest = largestOf(getFormat());
  for (int64_t i = 0, count = input.size(); i < count; ++i) {
    double scaled = roundTo(element, input.floats[i] / scale);
    if (!std::isnan(scaled))
      scaled = std::min(std::max(scaled, -largest), largest);
    llvm::APFloat rounded(scaled);
    bool losesInfo = false;
    rounded.convert(cast<FloatType>(getFormat()).getFloatSemantics(),
                    llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    results[0].set(i, rounded.convertToDouble() * scale);
  }
  return success();
}

LogicalResult Float8QuantizeGradientOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                                 MutableArrayRef<ReferenceTensor> results) {
  results[0] = operands[0];
  return success();
}
