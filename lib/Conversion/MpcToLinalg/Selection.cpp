// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc.compact and mpc.select_boxes carry counts through their loops, which no structured op does:
// they become ops of mpcrt of the same names.
#include "dialects/mpc/IR/Mpc.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Conversion/MpcToLinalg/Generic.h"
#include "lib/Conversion/MpcToLinalg/Patterns.h"

using namespace mlir;
using namespace mpc;

namespace {
struct LowerCompact : OpConversionPattern<CompactOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(CompactOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value places = emptyFrom(rewriter, loc, op.getPlaces().getType(), adaptor.getMask());
    Value count = emptyFrom(rewriter, loc, tensorTypeOf(op.getCount()), adaptor.getMask());
    rewriter.replaceOp(op, mpcrt::CompactOp::create(rewriter, loc,
                                                    TypeRange{places.getType(), count.getType()},
                                                    adaptor.getMask(), places, count));
    return success();
  }
};

struct LowerSelectBoxes : OpConversionPattern<SelectBoxesOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(SelectBoxesOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value scores = adaptor.getScores();
    Value picks = emptyFrom(rewriter, loc, tensorTypeOf(op.getResult()), scores);
    Value left =
        emptyFrom(rewriter, loc, tensorTypeOf(scores).clone(rewriter.getI32Type()), scores);
    auto selected = mpcrt::SelectBoxesOp::create(
        rewriter, loc, TypeRange{picks.getType(), left.getType()}, adaptor.getBoxes(), scores,
        adaptor.getOverlap(), adaptor.getLeast(), picks, left, op.getCentered());
    rewriter.replaceOp(op, selected.getResult(0));
    return success();
  }
};
} // namespace

void mpc::populateSelectionPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerCompact, LowerSelectBoxes>(converter, patterns.getContext());
}
