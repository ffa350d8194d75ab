// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc.cast: one conversion per element.
#include "dialects/mpc/IR/Mpc.h"
#include "lib/Conversion/MpcToLinalg/Generic.h"
#include "lib/Conversion/MpcToLinalg/Patterns.h"
#include "lib/Conversion/MpcToLinalg/Scalar.h"

using namespace mlir;
using namespace mpc;

namespace {
struct LowerCast : OpConversionPattern<CastOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(CastOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(getTypeConverter()->convertType(op.getType()));
    Type from = elementTypeOf(op.getInput()), to = elementTypeOf(op.getResult());
    // ui8 and i8 are the same signless bytes.
    if (adaptor.getInput().getType() == type && !to.isInteger(1) && from != to) {
      rewriter.replaceOp(op, adaptor.getInput());
      return success();
    }
    Value empty = emptyFrom(rewriter, op.getLoc(), type, adaptor.getInput());
    rewriter.replaceOp(
        op,
        buildElementwise(rewriter, op.getLoc(), adaptor.getInput(), empty,
                         [&](OpBuilder &builder, Location loc, ValueRange inputs, ValueRange) {
                           return SmallVector<Value>{castScalar(builder, loc, inputs[0], from, to)};
                         }));
    return success();
  }
};
} // namespace

void mpc::populateCastPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerCast>(converter, patterns.getContext());
}
