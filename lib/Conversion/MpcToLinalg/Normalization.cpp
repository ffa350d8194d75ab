// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc.moments as two reductions: the mean first, then the squares around it. One pass over sums of
// squares would lose the variance of values far from zero to cancellation.
#include "dialects/mpc/IR/Mpc.h"
#include "lib/Conversion/MpcToLinalg/Patterns.h"

using namespace mlir;
using namespace mpc;

namespace {
struct LowerMoments : OpConversionPattern<MomentsOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(MomentsOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value x = adaptor.getInput();
    auto type = tensorTypeOf(x);
    auto wide = type.clone(widerOf32(type.getElementType()));
    if (type != wide)
      x = CastOp::create(rewriter, loc, wide, x);
    auto mean = [&](Value value, bool keepDims) -> Value {
      return ReduceOp::create(rewriter, loc, ReduceKind::Mean, value, op.getAxes(), keepDims);
    };
    Value center = mean(x, /*keepDims=*/true);
    Value distance = SubtractOp::create(rewriter, loc, x, center);
    Value square = MultiplyOp::create(rewriter, loc, distance, distance);
    auto finish = [&](Value value, RankedTensorType result) -> Value {
      if (value.getType() != result.clone(wide.getElementType()))
        value = ReshapeOp::create(rewriter, loc, result.clone(wide.getElementType()), value);
      return value.getType() == result ? value
                                       : Value(CastOp::create(rewriter, loc, result, value));
    };
    rewriter.replaceOp(op,
                       {finish(center, tensorTypeOf(op.getMean())),
                        finish(mean(square, op.getKeepDims()), tensorTypeOf(op.getVariance()))});
    return success();
  }
};
} // namespace

void mpc::populateNormalizationPatterns(const TypeConverter &converter,
                                        RewritePatternSet &patterns) {
  patterns.add<LowerMoments>(converter, patterns.getContext());
}
