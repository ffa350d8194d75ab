// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ops that have done their work before the phase tensors: their value is an operand.
#include "dialects/mpc/IR/Mpc.h"
#include "lib/Conversion/MpcToLinalg/Patterns.h"

using namespace mlir;
using namespace mpc;

namespace {
/// The first operand is the value: of in_training the one of training, which is what the op means
/// where mpc-differentiate has not chosen.
template <typename Op> struct ForwardOperand : OpConversionPattern<Op> {
  using OpConversionPattern<Op>::OpConversionPattern;

  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, adaptor.getOperands().front());
    return success();
  }
};
} // namespace

void mpc::populateContextPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<ForwardOperand<Float8QuantizeGradientOp>, ForwardOperand<InTrainingOp>,
               ForwardOperand<StopGradientOp>, ForwardOperand<StraightThroughOp>>(
      converter, patterns.getContext());
}
