// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ops of quantized layers that are not elementwise: packed int4, and float8 with its scale.
#include "dialects/mpc/IR/Mpc.h"
#include "lib/Conversion/MpcToLinalg/Generic.h"
#include "lib/Conversion/MpcToLinalg/Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mpc;

namespace {
/// Reads the byte of each number and shifts its half to the top and back, which extends the sign,
/// or brings zeros.
struct LowerUnpackInt4 : OpConversionPattern<UnpackInt4Op> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(UnpackInt4Op op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(op.getType());
    const bool isUnsigned = type.getElementType().isUnsignedInteger();
    const unsigned rank = type.getRank();
    SmallVector<AffineExpr> exprs;
    for (unsigned d = 0; d < rank; ++d)
      exprs.push_back(rewriter.getAffineDimExpr(d));
    exprs.back() = exprs.back().floorDiv(2);
    auto body = [&](OpBuilder &b, Location l, ValueRange scalars, ValueRange) {
      Type i8 = b.getI8Type();
      auto constant = [&](int64_t value) -> Value {
        return arith::ConstantOp::create(b, l, b.getIntegerAttr(i8, value));
      };
      Value column = arith::IndexCastOp::create(b, l, i8, linalg::IndexOp::create(b, l, rank - 1));
      Value isHigh = arith::AndIOp::create(b, l, column, constant(1));
      Value up = arith::ShLIOp::create(b, l, scalars[0], constant(4));
      Value isLow = arith::CmpIOp::create(b, l, arith::CmpIPredicate::eq, isHigh, constant(0));
      Value half = arith::SelectOp::create(b, l, isLow, up, scalars[0]);
      return SmallVector<Value>{isUnsigned
                                    ? arith::ShRUIOp::create(b, l, half, constant(4)).getResult()
                                    : arith::ShRSIOp::create(b, l, half, constant(4)).getResult()};
    };
    SmallVector<OpFoldResult> extents;
    for (unsigned d = 0; d + 1 < rank; ++d)
      extents.push_back(extentOf(rewriter, loc, adaptor.getPacked(), d));
    extents.push_back(rewriter.getIndexAttr(op.getExtent()));
    Value empty = tensor::EmptyOp::create(rewriter, loc, extents, rewriter.getI8Type());
    rewriter.replaceOp(op, buildReduction(rewriter, loc, adaptor.getPacked(), empty,
                                          {AffineMap::get(rank, 0, exprs, getContext()),
                                           rewriter.getMultiDimIdentityMap(rank)},
                                          {}, body)[0]);
    return success();
  }
};

struct LowerFloat8Quantize : OpConversionPattern<Float8QuantizeOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(Float8QuantizeOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, quantizeFloat8(rewriter, op.getLoc(), adaptor.getInput(),
                                          adaptor.getScale(), op.getFormat()));
    return success();
  }
};
} // namespace

void mpc::populateQuantizationPatterns(const TypeConverter &converter,
                                       RewritePatternSet &patterns) {
  patterns.add<LowerUnpackInt4, LowerFloat8Quantize>(converter, patterns.getContext());
}
