// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention and its derivative: library calls, as they stand.
#include "Generic.h"
#include "Patterns.h"
#include "dialects/mpc/IR/Mpc.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mpc/Analysis/LayerPath.h"

using namespace mlir;
using namespace mpc;

namespace {
template <typename Op, typename Call> struct LowerAttention : OpConversionPattern<Op> {
  using OpConversionPattern<Op>::OpConversionPattern;

  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> operands(adaptor.getOperands());
    if (op.getMask())
      operands.pop_back();
    OpFoldResult batch = extentOf(rewriter, op.getLoc(), operands.front(), 0);
    for (Type result : op->getResultTypes()) {
      auto type = cast<RankedTensorType>(result);
      SmallVector<OpFoldResult> extents = getAsIndexOpFoldResult(op.getContext(), type.getShape());
      extents.front() = batch;
      operands.push_back(
          tensor::EmptyOp::create(rewriter, op.getLoc(), extents, type.getElementType()));
    }
    if (Value mask = adaptor.getMask())
      operands.push_back(mask);
    auto call = Call::create(rewriter, op.getLoc(), op->getResultTypes(), operands);
    call.setScaleAttr(op.getScaleAttr());
    call.setCausal(op.getCausal());
    call.setLayer(layerPathOf(op.getLoc()));
    rewriter.replaceOp(op, call);
    return success();
  }
};
} // namespace

void mpc::populateAttentionPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerAttention<AttentionOp, mpcrt::AttendOp>,
               LowerAttention<AttentionGradientOp, mpcrt::AttendGradientOp>>(converter,
                                                                             patterns.getContext());
}
