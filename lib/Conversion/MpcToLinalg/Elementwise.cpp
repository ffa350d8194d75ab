// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elementwise ops: their own scalar code in a parallel linalg.generic, one rounding each.
#include "dialects/mpc/IR/Mpc.h"
#include "lib/Conversion/MpcToLinalg/Generic.h"
#include "lib/Conversion/MpcToLinalg/Patterns.h"
#include "lib/Conversion/MpcToLinalg/Scalar.h"

using namespace mlir;
using namespace mpc;

namespace {
struct LowerElementwise : OpInterfaceConversionPattern<ElementwiseOpInterface> {
  using OpInterfaceConversionPattern::OpInterfaceConversionPattern;

  LogicalResult matchAndRewrite(ElementwiseOpInterface op, ArrayRef<Value> operands,
                                ConversionPatternRewriter &rewriter) const override {
    auto type = dyn_cast_or_null<RankedTensorType>(
        getTypeConverter()->convertType(op->getResult(0).getType()));
    if (!type)
      return rewriter.notifyMatchFailure(op, "result is no ranked tensor");
    Value empty = emptyFrom(rewriter, op->getLoc(), type, operands);
    SmallVector<Value> results = buildElementwise(
        rewriter, op->getLoc(), operands, empty,
        [&](OpBuilder &builder, Location loc, ValueRange inputs, ValueRange) -> SmallVector<Value> {
          SmallVector<Value> scalars;
          for (Value input : inputs)
            scalars.push_back(widen(builder, loc, input));
          Value result = op.buildScalar(builder, scalars);
          if (isa<FloatType>(type.getElementType()))
            result = roundTo(builder, loc, result, type.getElementType());
          return {result};
        });
    rewriter.replaceOp(op, results);
    return success();
  }
};
} // namespace

void mpc::populateElementwisePatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerElementwise>(converter, patterns.getContext());
}
