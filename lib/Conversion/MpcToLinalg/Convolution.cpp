// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The convolution and its adjoints: library calls, as they stand.
#include "dialects/mpc/IR/Mpc.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Conversion/MpcToLinalg/Generic.h"
#include "lib/Conversion/MpcToLinalg/Patterns.h"
#include "mpc/Analysis/LayerPath.h"

using namespace mlir;
using namespace mpc;

namespace {
template <typename Op, ConvolutionDirection direction>
struct LowerConvolution : OpConversionPattern<Op> {
  using OpConversionPattern<Op>::OpConversionPattern;

  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    ValueRange operands = adaptor.getOperands();
    auto type = cast<RankedTensorType>(op.getType());
    // A filter's extents are static, whatever the batch.
    Value out = emptyFrom(rewriter, loc, type, operands.front());
    Value bias = operands.size() > 2 ? operands[2] : Value();
    ConvolutionWindow window = op.getWindow();
    Activation activation = Activation::None;
    int64_t border = 0;
    if (auto forward = dyn_cast<ConvolutionOp>(op.getOperation()))
      border = int64_t(forward.getBorder());
    if (auto epilogue = dyn_cast<EpilogueOpInterface>(op.getOperation()))
      activation = epilogue.getEpilogueActivation();
    rewriter.replaceOpWithNewOp<mpcrt::ConvolveOp>(
        op, TypeRange(type), direction, operands[0], operands[1], bias, out, window.strides,
        window.paddingLow, window.paddingHigh, window.dilations, window.groups, activation, border,
        layerPathOf(loc));
    return success();
  }
};
} // namespace

void mpc::populateConvolutionPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerConvolution<ConvolutionOp, ConvolutionDirection::Forward>,
               LowerConvolution<ConvolutionInputGradientOp, ConvolutionDirection::InputGradient>,
               LowerConvolution<ConvolutionFilterGradientOp, ConvolutionDirection::FilterGradient>>(
      converter, patterns.getContext());
}
