// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The counter-based generator as arith ops.
#include "lib/Conversion/MpcToLinalg/Philox.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mpc;

Value Philox::constant(uint32_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getIntegerAttr(builder.getI32Type(), int32_t(value)));
}
Value Philox::low(Value i64) {
  return arith::TruncIOp::create(builder, loc, builder.getI32Type(), i64);
}
Value Philox::high(Value i64) {
  Value thirtyTwo = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(32));
  return low(arith::ShRUIOp::create(builder, loc, i64, thirtyTwo));
}
Value Philox::add(Value a, uint32_t b) {
  return arith::AddIOp::create(builder, loc, a, constant(b));
}
Value Philox::exclusiveOr(Value a, Value b) { return arith::XOrIOp::create(builder, loc, a, b); }

std::array<Value, 4> Philox::words(std::array<Value, 4> c, std::array<Value, 2> key) {
  for (int round = 0; round < 10; ++round) {
    auto p0 = arith::MulUIExtendedOp::create(builder, loc, c[0], constant(0xD2511F53));
    auto p1 = arith::MulUIExtendedOp::create(builder, loc, c[2], constant(0xCD9E8D57));
    c = {exclusiveOr(exclusiveOr(p1.getHigh(), c[1]), key[0]), p1.getLow(),
         exclusiveOr(exclusiveOr(p0.getHigh(), c[3]), key[1]), p0.getLow()};
    key = {add(key[0], 0x9E3779B9), add(key[1], 0xBB67AE85)};
  }
  return c;
}

Value mpc::elementIndex(OpBuilder &builder, Location loc, ArrayRef<int64_t> shape,
                        ArrayRef<int64_t> noise, Value firstSample) {
  Value index = arith::ConstantOp::create(builder, loc, builder.getIndexAttr(0));
  for (auto [d, extent] : llvm::enumerate(shape)) {
    bool repeats = !noise.empty() && noise[d] == 1;
    if (repeats)
      continue;
    // Only the first extent is dynamic, and the first one is never a stride.
    if (d > 0) {
      Value stride = arith::ConstantOp::create(builder, loc, builder.getIndexAttr(extent));
      index = arith::MulIOp::create(builder, loc, index, stride);
    }
    index = arith::AddIOp::create(builder, loc, index, linalg::IndexOp::create(builder, loc, d));
    if (d == 0 && firstSample)
      index = arith::AddIOp::create(
          builder, loc, index,
          arith::IndexCastOp::create(builder, loc, builder.getIndexType(), firstSample));
  }
  return arith::IndexCastUIOp::create(builder, loc, builder.getI64Type(), index);
}
