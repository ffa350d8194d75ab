// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integers that stand for numbers by a scale and a zero point: ONNX rounds the quotient to the
// nearest integer, ties to the even one, adds the zero point and saturates.
#include "lib/Import/ONNX/Ops/Quantization.h"

#include "lib/Import/Common/Shape.h"
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Axes.h"
#include "lib/Import/ONNX/Ops/Broadcasts.h"
#include "lib/Import/ONNX/Ops/Casts.h"
#include "lib/Import/ONNX/Ops/Windows.h"

namespace mpc::onnx {
using mlir::Value;
using B = NodeBuilder;
using Extents = llvm::SmallVector<int64_t>;

std::optional<std::pair<double, double>> rangeOf(DataType type) {
  switch (type) {
  case DataType::UInt8:
    return {{0, 255}};
  case DataType::Int8:
    return {{-128, 127}};
  case DataType::UInt16:
    return {{0, 65535}};
  case DataType::Int16:
    return {{-32768, 32767}};
  case DataType::UInt4:
    return {{0, 15}};
  case DataType::Int4:
    return {{-8, 7}};
  case DataType::UInt2:
    return {{0, 3}};
  case DataType::Int2:
    return {{-2, 1}};
  default:
    return std::nullopt;
  }
}

/// Bounds that are integers stay the same in front of the rounding, less the zero point: there the
/// conversion that follows can round. Of NaN the least integer is left, as by onnxruntime.
Value saturate(B &b, Value x, Value zeroPoint, DataType type) {
  const auto [lowest, highest] = *rangeOf(type);
  Value least = b.makeConstant(lowest), most = b.makeConstant(highest);
  if (zeroPoint) {
    Value shift = b.isFloat(zeroPoint) ? zeroPoint : b.makeCastToFloat(zeroPoint);
    least = b.make<SubtractOp>(least, shift);
    most = b.make<SubtractOp>(most, shift);
  }
  Value y = b.makeSelect(ComparePredicate::GT, x, least, x, least);
  y = b.makeSelect(ComparePredicate::LT, y, most, y, most);
  const mlir::Type i32 = b.builder.getI32Type();
  y = castTo(b, b.make<RoundOp>(y), i32);
  if (zeroPoint)
    y = b.make<AddOp>(y, castTo(b, zeroPoint, i32));
  return castTo(b, y, nominalType(b.builder, type));
}

namespace {

/// A scale or zero point as it broadcasts with `x`: one number, one for each place of the axis, or
/// one for each block of places. Null after an error.
Value spread(B &b, Value parameter, Value x) {
  if (b.rankOf(parameter) == 0 || (b.rankOf(parameter) == 1 && b.shapeOf(parameter).front() == 1)) {
    b.attributes.ignore("axis");
    return b.makeReshape(parameter, {});
  }
  const int64_t rank = b.rankOf(x), block = b.attributes.getInteger("block_size", 0);
  std::optional<int64_t> axis = b.resolveAxis(b.attributes.getInteger("axis", 1), rank);
  if (!axis)
    return {};
  const int64_t extent = b.shapeOf(x)[size_t(*axis)];
  if (b.rankOf(parameter) == 1 && !block) {
    if (b.shapeOf(parameter).front() != extent)
      return b.error("has " + llvm::Twine(b.shapeOf(parameter).front()) +
                     " scales or zero points along an axis of " + llvm::Twine(extent));
    Extents shape(size_t(rank), 1);
    shape[size_t(*axis)] = extent;
    return b.makeReshape(parameter, shape);
  }
  if (block < 1 || b.rankOf(parameter) != rank || mlir::ShapedType::isDynamic(extent))
    return b.error("scales of the shape " + printShape(b.shapeOf(parameter)) + " do not fit " +
                   printShape(b.shapeOf(x)));
  ResampleTable table;
  table.axis = *axis;
  table.taps = 1;
  for (int64_t i = 0; i < extent; ++i)
    table.indices.push_back(i / block);
  if (b.shapeOf(parameter)[size_t(*axis)] != (extent + block - 1) / block)
    return b.error("has " + llvm::Twine(b.shapeOf(parameter)[size_t(*axis)]) +
                   " blocks of scales; expected blocks of " + llvm::Twine(block) + " in " +
                   llvm::Twine(extent));
  // Whole numbers up to 65535, so that float32 holds them, too.
  return resample(b, b.isFloat(parameter) ? parameter : b.makeCastToFloat(parameter), {table});
}

void quantizeLinear(B &b) {
  Value x = b.get(0), scale = b.get(1);
  if (!x || !scale)
    return;
  auto type = static_cast<DataType>(b.attributes.getInteger("output_dtype", 0));
  if (b.has(2))
    type = b.getType(2);
  else if (type == DataType::Undefined)
    type = DataType::UInt8;
  if (!b.isFloat(x)) {
    x = b.makeCastToFloat(x);
    b.setComputeType(DataType::Float);
  }
  // Halves do not hold the integers that they are rounded to.
  scale = spread(b, b.makeCastLike(scale, scale, /*wide=*/true), x);
  if (!scale)
    return;
  Value quotient = b.make<DivideOp>(b.makeCastLike(x, x, /*wide=*/true), scale);
  if (!rangeOf(type)) {
    Value y = convert(b, quotient, DataType::Float, type, b.attributes.getFlag("saturate", true));
    if (y)
      b.setResult(0, y, type);
    return;
  }
  Value zeroPoint;
  if (b.has(2)) {
    zeroPoint = b.get(2);
    zeroPoint = zeroPoint ? spread(b, zeroPoint, x) : Value();
    if (!zeroPoint)
      return;
  }
  b.setResult(0, saturate(b, quotient, zeroPoint, type), type);
}

void dequantizeLinear(B &b) {
  Value x = b.get(0), scale = b.get(1);
  if (!x || !scale)
    return;
  auto type = static_cast<DataType>(b.attributes.getInteger("output_dtype", 0));
  if (type == DataType::Undefined)
    type = b.getType(1);
  b.setComputeType(type);
  scale = spread(b, scale, x);
  if (!scale)
    return;
  const bool isFloat = b.isFloat(x); // of 8 or 4 bits, whose zero point is 0
  if (b.has(2) && !isFloat) {
    Value zeroPoint = b.get(2);
    zeroPoint = zeroPoint ? spread(b, zeroPoint, x) : Value();
    if (!zeroPoint)
      return;
    const mlir::Type i32 = b.builder.getI32Type();
    x = b.make<SubtractOp>(castTo(b, x, i32), castTo(b, zeroPoint, i32));
  }
  Value wide = b.makeCastLike(isFloat ? x : b.makeCastToFloat(x), scale, /*wide=*/true);
  Value y = b.make<MultiplyOp>(wide, b.makeCastLike(scale, scale, /*wide=*/true));
  b.setResult(0, b.makeCastLike(y, scale), type);
}

// ---- Products of integers -----------------------------------------------------------------------

} // namespace

/// Whether all zero points are this number; false where they are not known.
static bool areAll(const Literal *zeroPoints, int64_t number) {
  return zeroPoints && zeroPoints->isInteger() &&
         llvm::all_of(zeroPoints->tensor.integers, [&](int64_t zero) { return zero == number; });
}

std::optional<Factor> readFactor(B &b, unsigned input, unsigned zeroPointInput, bool isImage) {
  Value value = b.get(input);
  if (!value)
    return std::nullopt;
  if (isImage)
    value = toChannelsLast(b, value);
  const mlir::Type i8 = b.builder.getI8Type(), i32 = b.builder.getI32Type();
  const bool isUnsigned = b.getType(input) == DataType::UInt8;
  if (!isUnsigned && b.getType(input) != DataType::Int8) {
    b.error("products of " + spell(b.getType(input)) + " are not supported; expected 8 bits");
    return std::nullopt;
  }
  Factor factor;
  Value shift = b.makeInteger(i32, 128);
  factor.value =
      isUnsigned ? castTo(b, b.make<SubtractOp>(castTo(b, value, i32), shift), i8) : value;
  if (b.has(zeroPointInput) && areAll(b.getLiteral(zeroPointInput), isUnsigned ? 128 : 0))
    return factor;
  if (b.has(zeroPointInput)) {
    Value zeroPoint = b.get(zeroPointInput);
    if (!zeroPoint)
      return std::nullopt;
    zeroPoint = castTo(b, zeroPoint, i32);
    if (b.rankOf(zeroPoint) == 1 && b.shapeOf(zeroPoint).front() == 1)
      zeroPoint = b.makeReshape(zeroPoint, {});
    factor.zeroPoint = isUnsigned ? b.make<SubtractOp>(zeroPoint, shift) : zeroPoint;
  } else if (isUnsigned) {
    factor.zeroPoint = b.makeInteger(i32, -128);
  }
  return factor;
}

namespace {

/// Batch dimensions of both factors alike; null after an error.
bool shareBatch(B &b, Value &lhs, Value &rhs) {
  auto batch = broadcastShapes({b.shapeOf(lhs).drop_back(2), b.shapeOf(rhs).drop_back(2)});
  if (failed(batch)) {
    b.error("the shapes " + printShape(b.shapeOf(lhs)) + " and " + printShape(b.shapeOf(rhs)) +
            " do not broadcast");
    return false;
  }
  for (Value *side : {&lhs, &rhs}) {
    Extents shape(*batch);
    llvm::append_range(shape, b.shapeOf(*side).take_back(2));
    *side = broadcastTo(b, *side, shape);
    if (!*side)
      return false;
  }
  return true;
}

/// A row of zero points [m] as a column, or one number as it is; one for each column stays.
Value alongRows(B &b, Value zeroPoint) {
  if (b.rankOf(zeroPoint) != 1)
    return zeroPoint;
  return b.makeReshape(zeroPoint, {b.shapeOf(zeroPoint).front(), 1});
}

} // namespace

Value multiplyFactors(B &b, Factor lhs, Factor rhs, bool isTransposed) {
  const bool isRow = b.rankOf(lhs.value) == 1, isColumn = b.rankOf(rhs.value) == 1;
  if (isRow)
    lhs.value = b.makeReshape(lhs.value, {1, b.shapeOf(lhs.value).front()});
  if (isColumn)
    rhs.value = b.makeReshape(rhs.value, {b.shapeOf(rhs.value).front(), 1});
  if (b.rankOf(lhs.value) < 2 || b.rankOf(rhs.value) < 2)
    return b.error("takes matrices");
  if (b.rankOf(rhs.value) > 2 && !shareBatch(b, lhs.value, rhs.value))
    return {};
  const int64_t rank = b.rankOf(lhs.value), depth = b.shapeOf(lhs.value).back();
  const int64_t rhsRank = b.rankOf(rhs.value), rhsAxis = rhsRank - (isTransposed ? 1 : 2);
  if (depth != b.shapeOf(rhs.value)[size_t(rhsAxis)] || (isTransposed && rhsRank != 2))
    return b.error("the shapes " + printShape(b.shapeOf(lhs.value)) + " and " +
                   printShape(b.shapeOf(rhs.value)) + " do not fit a product");
  const auto batch = rhsRank > 2 ? llvm::to_vector(llvm::seq<int64_t>(0, rank - 2)) : Extents();
  Value y =
      b.make<ContractOp>(lhs.value, rhs.value, batch, batch, Extents{rank - 1}, Extents{rhsAxis});
  const mlir::Type i32 = b.builder.getI32Type();
  const auto sums = [&](Value factor, int64_t axis) {
    return b.makeReduce(ReduceKind::Sum, castTo(b, factor, i32), {axis}, /*keepDims=*/true);
  };
  if (rhs.zeroPoint)
    y = b.make<SubtractOp>(y, b.make<MultiplyOp>(sums(lhs.value, rank - 1), rhs.zeroPoint));
  if (lhs.zeroPoint) {
    Value column = alongRows(b, lhs.zeroPoint);
    Value ofColumns = sums(rhs.value, rhsAxis);
    if (isTransposed)
      ofColumns = b.makeReshape(ofColumns, {1, b.shapeOf(ofColumns).front()});
    y = b.make<SubtractOp>(y, b.make<MultiplyOp>(ofColumns, column));
    if (rhs.zeroPoint)
      y = b.make<AddOp>(y, b.make<MultiplyOp>(b.make<MultiplyOp>(column, rhs.zeroPoint),
                                              b.makeInteger(i32, depth)));
  }
  Extents shape(b.shapeOf(y));
  if (isColumn)
    shape.pop_back();
  if (isRow)
    shape.erase(shape.end() - (isColumn ? 1 : 2));
  return b.makeReshape(y, shape);
}

namespace {

/// This reads them from inputs of the node.
Value multiply(B &b, unsigned lhsInput, unsigned lhsZero, unsigned rhsInput, unsigned rhsZero,
               bool isTransposed = false) {
  std::optional<Factor> lhs = readFactor(b, lhsInput, lhsZero),
                        rhs = lhs ? readFactor(b, rhsInput, rhsZero) : std::nullopt;
  return rhs ? multiplyFactors(b, *lhs, *rhs, isTransposed) : Value();
}

void matMulInteger(B &b) {
  if (Value y = multiply(b, 0, 2, 1, 3))
    b.setResult(0, y);
}

/// A scale of rows or columns as it broadcasts with the product.
Value scaleOf(B &b, unsigned input, bool isOfRows) {
  Value scale = b.get(input);
  if (!scale)
    return {};
  scale = b.makeCastLike(scale, scale, /*wide=*/true);
  if (b.rankOf(scale) == 1 && b.shapeOf(scale).front() == 1)
    return b.makeReshape(scale, {});
  return isOfRows ? alongRows(b, scale) : scale;
}

void qLinearMatMul(B &b) {
  const DataType type = b.getType(7);
  if (!rangeOf(type))
    return (void)b.error("the output's zero point must be an integer of 8 bits");
  b.setComputeType(DataType::Float);
  Value sums = multiply(b, 0, 2, 3, 5);
  Value ofLhs = sums ? scaleOf(b, 1, true) : Value(), ofRhs = sums ? scaleOf(b, 4, false) : Value();
  Value ofResult = sums ? scaleOf(b, 6, true) : Value(), zeroPoint = sums ? b.get(7) : Value();
  if (!ofLhs || !ofRhs || !ofResult || !zeroPoint)
    return;
  if (b.rankOf(zeroPoint) == 1)
    zeroPoint =
        b.shapeOf(zeroPoint).front() == 1 ? b.makeReshape(zeroPoint, {}) : alongRows(b, zeroPoint);
  Value factor = b.make<DivideOp>(b.make<MultiplyOp>(ofLhs, ofRhs), ofResult);
  Value y = b.make<MultiplyOp>(b.makeCastToFloat(sums), factor);
  b.setResult(0, saturate(b, y, zeroPoint, type), type);
}

/// onnxruntime's product with a bias of int32; without a scale of the result it is dequantized.
void qGemm(B &b) {
  const DataType type = b.getType(8);
  const bool isQuantized = b.has(7);
  if (b.attributes.getFlag("transA") || b.attributes.getNumber("alpha", 1.0) != 1.0 ||
      (isQuantized && !rangeOf(type)))
    return (void)b.error("'transA', an 'alpha' and results of other than 8 bits are not supported");
  b.setComputeType(DataType::Float);
  Value sums = multiply(b, 0, 2, 3, 5, b.attributes.getFlag("transB"));
  if (sums && b.has(6)) {
    Value bias = b.get(6);
    sums = bias ? b.make<AddOp>(sums, castTo(b, bias, elementTypeOf(sums))) : Value();
  }
  Value ofLhs = sums ? scaleOf(b, 1, true) : Value(), ofRhs = sums ? scaleOf(b, 4, false) : Value();
  if (!ofLhs || !ofRhs)
    return;
  Value factor = b.make<MultiplyOp>(ofLhs, ofRhs), numbers = b.makeCastToFloat(sums);
  if (!isQuantized)
    return b.setResult(0, b.make<MultiplyOp>(numbers, factor), DataType::Float);
  Value ofResult = scaleOf(b, 7, false), zeroPoint = ofResult ? b.get(8) : Value();
  if (zeroPoint)
    b.setResult(0,
                saturate(b, b.make<MultiplyOp>(numbers, b.make<DivideOp>(factor, ofResult)),
                         b.makeReshape(zeroPoint, {}), type),
                type);
}

constexpr OpEntry kTable[] = {
    {"DequantizeLinear", 10, dequantizeLinear},
    {"MatMulInteger", 10, matMulInteger},
    {"QGemm", 1, qGemm, nullptr, OpenBatch::first, "com.microsoft"},
    {"QLinearMatMul", 10, qLinearMatMul},
    {"QuantizeLinear", 10, quantizeLinear},
};

} // namespace

llvm::ArrayRef<OpEntry> getQuantizationOps() { return kTable; }

} // namespace mpc::onnx
