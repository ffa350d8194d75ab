// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions and argmax: a float32 (float64) accumulator, one rounding at the end.
#include "dialects/mpc/IR/Mpc.h"
#include "lib/Conversion/MpcToLinalg/Generic.h"
#include "lib/Conversion/MpcToLinalg/Patterns.h"
#include "lib/Conversion/MpcToLinalg/Scalar.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include <limits>

using namespace mlir;
using namespace mpc;

static double identityOf(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Mean:
  case ReduceKind::Any:
    return 0;
  case ReduceKind::All:
    return 1;
  case ReduceKind::Max:
    return -std::numeric_limits<double>::infinity();
  case ReduceKind::Min:
    return std::numeric_limits<double>::infinity();
  }
  llvm_unreachable("enumerated");
}

/// `declared` has the signedness that integer scalars lost.
static Value combineIntegers(OpBuilder &builder, Location loc, ReduceKind kind, Type declared,
                             Value accumulator, Value element) {
  bool isUnsigned = declared.isUnsignedInteger();
  if (kind == ReduceKind::Max)
    return isUnsigned ? Value(arith::MaxUIOp::create(builder, loc, accumulator, element))
                      : arith::MaxSIOp::create(builder, loc, accumulator, element);
  if (kind == ReduceKind::Min)
    return isUnsigned ? Value(arith::MinUIOp::create(builder, loc, accumulator, element))
                      : arith::MinSIOp::create(builder, loc, accumulator, element);
  return arith::AddIOp::create(builder, loc, accumulator, element);
}

/// The number that changes no sum, maximum or minimum of integers.
static Value integerIdentity(OpBuilder &builder, Location loc, ReduceKind kind, Type declared) {
  unsigned width = declared.getIntOrFloatBitWidth();
  llvm::APInt value(width, 0);
  if (kind == ReduceKind::Max && !declared.isUnsignedInteger())
    value = llvm::APInt::getSignedMinValue(width);
  if (kind == ReduceKind::Min)
    value = declared.isUnsignedInteger() ? llvm::APInt::getMaxValue(width)
                                         : llvm::APInt::getSignedMaxValue(width);
  return arith::ConstantOp::create(builder, loc,
                                   builder.getIntegerAttr(builder.getIntegerType(width), value));
}

static Value combine(OpBuilder &builder, Location loc, ReduceKind kind, Value accumulator,
                     Value element) {
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Mean:
    // Only the order of the sum is free, so that it can be vectorised.
    return arith::AddFOp::create(builder, loc, accumulator, element, arith::FastMathFlags::reassoc);
  case ReduceKind::Any:
    return arith::OrIOp::create(builder, loc, accumulator, element);
  case ReduceKind::All:
    return arith::AndIOp::create(builder, loc, accumulator, element);
  case ReduceKind::Max:
    return arith::MaximumFOp::create(builder, loc, accumulator, element);
  case ReduceKind::Min:
    return arith::MinimumFOp::create(builder, loc, accumulator, element);
  }
  llvm_unreachable("enumerated");
}

/// Extents of `type` where its dimensions that correspond to dynamic ones of `input` follow it.
static Value reductionDestination(OpBuilder &builder, Location loc, Value input,
                                  ArrayRef<int64_t> axes, Type elementType, Value identity) {
  SmallVector<OpFoldResult> inputExtents = extentsFrom(
                                builder, loc, cast<RankedTensorType>(input.getType()), input),
                            extents;
  for (auto [d, extent] : llvm::enumerate(inputExtents))
    if (!llvm::is_contained(axes, int64_t(d)))
      extents.push_back(extent);
  Value empty = tensor::EmptyOp::create(builder, loc, extents, elementType);
  return linalg::FillOp::create(builder, loc, identity, empty).getResult(0);
}

/// Number of elements that one result element sums, in `type`.
static Value countOf(OpBuilder &builder, Location loc, Value input, ArrayRef<int64_t> axes,
                     Type type) {
  auto inputType = cast<RankedTensorType>(input.getType());
  int64_t fixed = 1;
  Value dynamic;
  for (int64_t axis : axes) {
    if (inputType.isDynamicDim(axis))
      dynamic = getValueOrCreateConstantIndexOp(builder, loc, extentOf(builder, loc, input, axis));
    else
      fixed *= inputType.getDimSize(axis);
  }
  if (!dynamic)
    return scalarOf(builder, loc, type, double(fixed));
  Type i64 = builder.getI64Type();
  Value count = arith::IndexCastOp::create(builder, loc, i64, dynamic);
  count = arith::MulIOp::create(
      builder, loc, count,
      arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(fixed)));
  return arith::SIToFPOp::create(builder, loc, type, count);
}

/// The number that every element of `tensor` is, as a tensor without dimensions or a scalar; null
/// when they may differ. Broadcasts are lowered before what reads them.
static Value repeatedNumber(OpBuilder &builder, Value tensor) {
  auto generic = tensor.getDefiningOp<linalg::GenericOp>();
  if (!generic || generic.getNumReductionLoops() != 0)
    return nullptr;
  auto yield = cast<linalg::YieldOp>(generic.getBody()->getTerminator());
  Value value = yield.getOperand(cast<OpResult>(tensor).getResultNumber());
  if (Attribute constant = splatOf(value))
    return scalarOf(builder, generic.getLoc(), constant);
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != generic.getBody())
    return nullptr;
  OpOperand *operand = generic.getMatchingOpOperand(argument);
  bool single =
      generic.isDpsInput(operand) && generic.getMatchingIndexingMap(operand).getNumResults() == 0;
  return single ? operand->get() : nullptr;
}

namespace {
/// The sum of one number, repeated: the number times how often. What metrics count is of this form:
/// Keras multiplies by the batch size, too (keras/src/backend/*/trainer.py, `_loss_tracker`).
struct LowerSumOfRepeated : OpConversionPattern<ReduceOp> {
  LowerSumOfRepeated(const TypeConverter &converter, MLIRContext *context)
      : OpConversionPattern(converter, context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(ReduceOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(getTypeConverter()->convertType(op.getType()));
    if (op.getKind() != ReduceKind::Sum || type.getRank() != 0 ||
        !isa<FloatType>(type.getElementType()))
      return rewriter.notifyMatchFailure(op, "not a sum of floats to one");
    Location loc = op.getLoc();
    Value input = adaptor.getInput();
    Value number = repeatedNumber(rewriter, input);
    if (!number)
      return rewriter.notifyMatchFailure(op, "the elements may differ");
    Type element = type.getElementType();
    Value count = countOf(rewriter, loc, input, op.getAxes(), widerOf32(element));
    Value empty = tensor::EmptyOp::create(rewriter, loc, ArrayRef<int64_t>(), element);
    rewriter.replaceOp(
        op,
        buildElementwise(rewriter, loc, {number, count}, empty,
                         [&](OpBuilder &builder, Location nested, ValueRange scalars, ValueRange) {
                           Value wide = widen(builder, nested, scalars[0]);
                           Value product = arith::MulFOp::create(builder, nested, wide, scalars[1]);
                           return SmallVector<Value>{roundTo(builder, nested, product, element)};
                         })[0]);
    return success();
  }
};

/// The tensor of 16-bit numbers that `tensor` has in float32, else `tensor`: a sum widens what it
/// reads.
Value narrowSource(Value tensor) {
  auto generic = tensor.getDefiningOp<linalg::GenericOp>();
  if (!generic || generic.getNumDpsInputs() != 1 || generic.getNumDpsInits() != 1 ||
      !llvm::all_of(generic.getIndexingMapsArray(), [](AffineMap map) { return map.isIdentity(); }))
    return tensor;
  auto yield = cast<linalg::YieldOp>(generic.getBody()->getTerminator());
  auto widened = yield.getOperand(0).getDefiningOp<arith::ExtFOp>();
  return widened && widened.getType().isF32() && widened.getIn() == generic.getRegionInputArgs()[0]
             ? generic.getDpsInputs()[0]
             : tensor;
}

struct LowerReduce : OpConversionPattern<ReduceOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(ReduceOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    ReduceKind kind = op.getKind();
    Value input = adaptor.getInput();
    auto inputType = tensorTypeOf(input);
    Type element = inputType.getElementType();
    if (kind == ReduceKind::Sum)
      input = narrowSource(input);
    Type accumulate = isa<FloatType>(element) ? widerOf32(element) : element;
    int64_t rank = inputType.getRank();
    SmallVector<int64_t> axes(op.getAxes());

    Type declared = elementTypeOf(op.getInput());
    bool integers = isa<IntegerType>(declared) && !declared.isInteger(1);
    Value identity = integers ? integerIdentity(rewriter, loc, kind, declared)
                              : scalarOf(rewriter, loc, accumulate, identityOf(kind));
    Value destination = reductionDestination(rewriter, loc, input, axes, accumulate, identity);
    SmallVector<AffineMap> maps{rewriter.getMultiDimIdentityMap(rank),
                                dropMap(getContext(), rank, axes)};
    Value result = buildReduction(
        rewriter, loc, input, destination, maps, axes,
        [&](OpBuilder &builder, Location nested, ValueRange inputs, ValueRange sums) {
          if (integers)
            return SmallVector<Value>{
                combineIntegers(builder, nested, kind, declared, sums[0], inputs[0])};
          return SmallVector<Value>{
              combine(builder, nested, kind, sums[0], widen(builder, nested, inputs[0]))};
        })[0];
    if (kind == ReduceKind::Mean || element != accumulate) {
      auto sumType = tensorTypeOf(result);
      Value empty = emptyFrom(rewriter, loc, sumType.clone(element), result);
      SmallVector<Value> inputs{result};
      if (kind == ReduceKind::Mean)
        inputs.push_back(countOf(rewriter, loc, input, axes, accumulate));
      result = buildElementwise(
          rewriter, loc, inputs, empty,
          [&](OpBuilder &builder, Location nested, ValueRange scalars, ValueRange) {
            Value value = scalars[0];
            if (kind == ReduceKind::Mean)
              value = arith::DivFOp::create(builder, nested, value, scalars[1]);
            return SmallVector<Value>{roundTo(builder, nested, value, element)};
          })[0];
    }
    auto type = cast<RankedTensorType>(getTypeConverter()->convertType(op.getType()));
    if (result.getType() != type)
      result = ReshapeOp::create(rewriter, loc, type, result);
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// Keeps the value and the index of the first largest element. A NaN is larger than every number,
/// as NumPy has it.
struct LowerArgMax : OpConversionPattern<ArgMaxOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(ArgMaxOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value input = adaptor.getInput();
    auto inputType = tensorTypeOf(input);
    Type wide = widerOf32(inputType.getElementType()), i32 = rewriter.getI32Type();
    int64_t rank = inputType.getRank(), axis = op.getAxis();
    Value lowest = scalarOf(rewriter, loc, wide, -std::numeric_limits<double>::infinity());
    Value best = reductionDestination(rewriter, loc, input, axis, wide, lowest);
    Value indices =
        reductionDestination(rewriter, loc, input, axis, i32, scalarOf(rewriter, loc, i32, 0));
    AffineMap kept = dropMap(getContext(), rank, axis);
    SmallVector<Value> results = buildReduction(
        rewriter, loc, input, {best, indices}, {rewriter.getMultiDimIdentityMap(rank), kept, kept},
        axis, [&](OpBuilder &builder, Location nested, ValueRange inputs, ValueRange state) {
          using P = arith::CmpFPredicate;
          Value x = widen(builder, nested, inputs[0]);
          Value index = arith::IndexCastOp::create(builder, nested, i32,
                                                   linalg::IndexOp::create(builder, nested, axis));
          Value greater = arith::CmpFOp::create(builder, nested, P::OGT, x, state[0]);
          Value isNan = arith::CmpFOp::create(builder, nested, P::UNO, x, x);
          Value hasNumber = arith::CmpFOp::create(builder, nested, P::ORD, state[0], state[0]);
          Value firstNan = arith::AndIOp::create(builder, nested, isNan, hasNumber);
          Value take = arith::OrIOp::create(builder, nested, greater, firstNan);
          return SmallVector<Value>{
              arith::SelectOp::create(builder, nested, take, x, state[0]),
              arith::SelectOp::create(builder, nested, take, index, state[1])};
        });
    rewriter.replaceOp(op, results[1]);
    return success();
  }
};
} // namespace

void mpc::populateReducePatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerArgMax, LowerReduce, LowerSumOfRepeated>(converter, patterns.getContext());
}
