// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// onnxruntime's own operations on quantized tensors, with its formulas: where a number is in the
// middle between two integers, another order of the same factors is another integer.
#include "lib/Import/Common/Shape.h"
#include "lib/Import/ONNX/Forms/RestoreForms.h"
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Casts.h"
#include "lib/Import/ONNX/Ops/Quantization.h"
#include "lib/Import/ONNX/Ops/Windows.h"

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;
using Extents = llvm::SmallVector<int64_t>;

/// Input `i`, one number; as a float. Null after an error.
Value readNumber(B &b, unsigned i) {
  Value x = b.get(i);
  if (!x || tensorTypeOf(x).getNumElements() != 1)
    return x ? b.error("input " + llvm::Twine(i) + " is not one number") : x;
  x = b.makeReshape(x, {});
  return b.isFloat(x) ? b.makeCastLike(x, x, /*wide=*/true) : b.makeCastToFloat(x);
}

/// Input `i` of 8 bits as floating numbers, not yet scaled.
Value readIntegers(B &b, unsigned i) {
  if (!rangeOf(b.getType(i)))
    return b.error("input " + llvm::Twine(i) + " is of " + spell(b.getType(i)) +
                   "; expected integers of 8 bits");
  Value x = b.get(i);
  return x ? b.makeCastToFloat(x) : x;
}

/// Operands A, their scales and zero points in the order of onnxruntime's binary operations.
struct Operands {
  Value a, scaleA, zeroA, b, scaleB, zeroB, scale, zero;
};

std::optional<Operands> readOperands(B &b) {
  Operands operands;
  Value *all[] = {&operands.a,      &operands.scaleA, &operands.zeroA, &operands.b,
                  &operands.scaleB, &operands.zeroB,  &operands.scale, &operands.zero};
  b.setComputeType(DataType::Float);
  for (unsigned i = 0; i < std::size(all); ++i) {
    const bool isTensor = i == 0 || i == 3, isZero = i == 2 || i == 5 || i == 7;
    *all[i] = isTensor              ? readIntegers(b, i)
              : isZero && !b.has(i) ? b.makeConstant(0.0)
                                    : readNumber(b, i);
    if (!*all[i])
      return std::nullopt;
  }
  if (!b.checkBroadcast({operands.a, operands.b}))
    return std::nullopt;
  return operands;
}

/// The operands as numbers: scaled differences, as DequantizeLinear rounds them.
std::pair<Value, Value> dequantize(B &b, const Operands &x) {
  return {b.make<MultiplyOp>(b.make<SubtractOp>(x.a, x.zeroA), x.scaleA),
          b.make<MultiplyOp>(b.make<SubtractOp>(x.b, x.zeroB), x.scaleB)};
}

void quantize(B &b, const Operands &x, Value y) {
  const DataType type = b.getType(b.has(7) ? 7 : 0);
  b.setResult(0, saturate(b, b.make<DivideOp>(y, x.scale), x.zero, type), type);
}

void add(B &b) {
  if (auto x = readOperands(b)) {
    auto [lhs, rhs] = dequantize(b, *x);
    quantize(b, *x, b.make<AddOp>(lhs, rhs));
  }
}

void multiplyDequantized(B &b) {
  if (auto x = readOperands(b)) {
    auto [lhs, rhs] = dequantize(b, *x);
    quantize(b, *x, b.make<MultiplyOp>(lhs, rhs));
  }
}

/// onnxruntime scales the product of the differences once.
void multiply(B &b) {
  auto x = readOperands(b);
  if (!x)
    return;
  Value product =
      b.make<MultiplyOp>(b.make<SubtractOp>(x->a, x->zeroA), b.make<SubtractOp>(x->b, x->zeroB));
  Value factor = b.make<DivideOp>(b.make<MultiplyOp>(x->scaleA, x->scaleB), x->scale);
  product = b.make<MultiplyOp>(product, factor);
  b.setResult(0, saturate(b, product, x->zero, b.getType(0)), b.getType(0));
}

/// Exact sums, scaled once.
void globalAveragePool(B &b) {
  b.setComputeType(DataType::Float);
  if (b.attributes.getFlag("channels_last"))
    return (void)b.error("with channels last is not supported");
  Value x = readIntegers(b, 0);
  Value scaleX = x ? readNumber(b, 1) : x, zeroX = scaleX ? readNumber(b, 2) : scaleX;
  Value scaleY = zeroX ? readNumber(b, 3) : zeroX, zeroY = scaleY ? readNumber(b, 4) : scaleY;
  if (!zeroY)
    return;
  int64_t count = 1;
  Extents axes;
  bool isExact = true; // differences up to 255 in 32 bits
  for (int64_t axis = 2; axis < b.rankOf(x); ++axis) {
    axes.push_back(axis);
    const int64_t extent = b.shapeOf(x)[size_t(axis)];
    isExact &= extent >= 0 && extent <= (int64_t(1) << 23) / std::max<int64_t>(count, 1);
    count *= isExact ? extent : 0;
  }
  if (axes.empty() || !isExact)
    return (void)b.error("takes [batch, channels, spatial...] of up to 2^23 places, not " +
                         printShape(b.shapeOf(x)));
  const mlir::Type i32 = b.builder.getI32Type();
  Value differences = castTo(b, b.make<SubtractOp>(x, zeroX), i32);
  Value sums = b.makeCastToFloat(b.makeReduce(ReduceKind::Sum, differences, axes, true));
  Value factor =
      b.make<DivideOp>(scaleX, b.make<MultiplyOp>(scaleY, b.makeConstant(double(count))));
  b.setResult(0, saturate(b, b.make<MultiplyOp>(sums, factor), zeroY, b.getType(0)), b.getType(0));
}

/// A product with a matrix of 2, 4 or 8 bits in blocks, [columns, blocks, bytes], the lowest bits
/// of a byte first; scales are one for each block, zero points the middle or packed in the same
/// way.
void multiplyBlocks(B &b) {
  const int64_t depth = b.attributes.getInteger("K", 0), columns = b.attributes.getInteger("N", 0),
                block = b.attributes.getInteger("block_size", 0),
                bits = b.attributes.getInteger("bits", 4);
  b.attributes.ignore("accuracy_level"); // of onnxruntime's activations
  Value x = b.get(0), packed = b.get(1), scales = b.get(2);
  if (!x || !packed || !scales)
    return;
  if ((bits != 2 && bits != 4 && bits != 8) || block < 16 || block % 4 || depth < 1 ||
      columns < 1 || b.has(4) || b.getType(1) != DataType::UInt8 || b.rankOf(x) < 1 ||
      b.shapeOf(x).back() != depth || block > kMostSpatial || columns > kMostSpatial ||
      depth > kMostSpatial)
    return (void)b.error(
        "takes weights of 2, 4 or 8 bits in blocks of 16 or more, in their own order");
  const int64_t blocks = (depth + block - 1) / block, inByte = 8 / bits;
  if (columns * blocks > kMostSpatial || columns * blocks > (int64_t(1) << 40) / block)
    return (void)b.error("has more weights than a file can hold");
  const mlir::Type i32 = b.builder.getI32Type();
  if (tensorTypeOf(packed).getNumElements() != columns * blocks * block / inByte ||
      tensorTypeOf(scales).getNumElements() != columns * blocks)
    return (void)b.error("weights or scales do not have the shape that the attributes say");
  const auto unpack = [&](Value bytes, int64_t count) { // [columns, count bytes] to their numbers
    Value wide = castTo(b, b.makeReshape(bytes, {columns, count, 1}), i32);
    llvm::SmallVector<Value> numbers;
    for (int64_t shift = 0; shift < 8; shift += bits) {
      Value high =
          b.make<IntegerOp>(IntegerKind::FloorDivide, wide, b.makeInteger(i32, 1 << shift));
      numbers.push_back(
          b.make<IntegerOp>(IntegerKind::And, high, b.makeInteger(i32, (1 << bits) - 1)));
    }
    return b.makeReshape(b.make<ConcatenateOp>(numbers, int64_t(2)), {columns, inByte * count});
  };
  Value integers = b.makeReshape(unpack(packed, blocks * block / inByte), {columns, blocks, block});
  Value zero = b.makeInteger(i32, 1 << (bits - 1));
  if (b.has(3)) {
    Value zeros = b.get(3);
    const int64_t bytes = (blocks + inByte - 1) / inByte;
    if (!zeros)
      return;
    if (b.getType(3) != DataType::UInt8 || tensorTypeOf(zeros).getNumElements() != columns * bytes)
      return (void)b.error("zero points are bytes of packed numbers");
    Value all = unpack(zeros, bytes);
    if (inByte * bytes != blocks)
      all = b.make<SliceOp>(all, int64_t(1), int64_t(0), blocks);
    zero = b.makeReshape(all, {columns, blocks, 1});
  }
  Value numbers = b.makeCastToFloat(b.make<SubtractOp>(integers, zero));
  Value weights = b.make<MultiplyOp>(numbers, b.makeReshape(scales, {columns, blocks, 1}));
  weights = b.makeReshape(weights, {columns, blocks * block});
  if (blocks * block != depth)
    weights = b.make<SliceOp>(weights, int64_t(1), int64_t(0), depth);
  Value y = b.make<ContractOp>(x, weights, Extents{b.rankOf(x) - 1}, Extents{1});
  if (b.has(5)) {
    Value bias = b.get(5);
    y = bias ? b.make<AddOp>(y, bias) : y;
  }
  b.setResult(0, y, b.getType(0));
}

constexpr OpEntry kTable[] = {
    {"MatMulNBits", 1, multiplyBlocks, nullptr, OpenBatch::first, "com.microsoft"},
    {"QLinearAdd", 1, add, nullptr, OpenBatch::first, "com.microsoft"},
    {"QLinearGlobalAveragePool", 1, globalAveragePool, nullptr, OpenBatch::first, "com.microsoft"},
    {"QLinearMul", 1, multiply, nullptr, OpenBatch::first, "com.microsoft"},
    {"QuantizedAdd", 1, add, nullptr, OpenBatch::first, kFormDomain},
    {"QuantizedMul", 1, multiplyDequantized, nullptr, OpenBatch::first, kFormDomain},
};

} // namespace

llvm::ArrayRef<OpEntry> getQuantizedArithmeticOps() { return kTable; }

} // namespace mpc::onnx
