// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass convert-mpc-to-linalg: type conversion, signatures and the families' patterns.
#include "dialects/mpc/IR/Mpc.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Conversion/MpcToLinalg/NarrowWeights.h"
#include "lib/Conversion/MpcToLinalg/Patterns.h"
#include "lib/Conversion/MpcToLinalg/ProductParts.h"
#include "lib/Conversion/MpcToLinalg/Scalar.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Conversion/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_CONVERTMPCTOLINALG
#include "mpc/Conversion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// The library's tables need the signedness that signless types lose.
static void keepElementTypes(func::FuncOp function) {
  auto declared = [](Type type) -> TypeAttr {
    Type element = getElementTypeOrSelf(type);
    return signless(element) == element ? TypeAttr() : TypeAttr::get(element);
  };
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    if (TypeAttr element = declared(type))
      function.setArgAttr(i, MpcDialect::kElementTypeAttr, element);
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    if (TypeAttr element = declared(type))
      function.setResultAttr(i, MpcDialect::kElementTypeAttr, element);
}

/// Splat constants moved into bodies; what is left of them has no use.
static void eraseDeadOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      eraseDeadOps(*loop.getBody());
    if (isOpTriviallyDead(&op))
      op.erase();
  }
}

static void eraseDeadOps(func::FuncOp function) {
  for (Block &block : function.getBody())
    eraseDeadOps(block);
}

namespace {
struct ConvertMpcToLinalgPass : mpc::impl::ConvertMpcToLinalgBase<ConvertMpcToLinalgPass> {
  using ConvertMpcToLinalgBase::ConvertMpcToLinalgBase;

  void runOnModule() override {
    MLIRContext *context = &getContext();
    TypeConverter converter;
    converter.addConversion([](Type type) { return type; });
    converter.addConversion(
        [](RankedTensorType type) -> Type { return type.clone(signless(type.getElementType())); });

    ConversionTarget target(*context);
    target.addLegalDialect<arith::ArithDialect, linalg::LinalgDialect, math::MathDialect,
                           scf::SCFDialect, tensor::TensorDialect>();
    target.addLegalDialect<mpcrt::MpcrtDialect>();
    target.addIllegalDialect<MpcDialect>();
    target.addDynamicallyLegalOp<func::FuncOp>(
        [&](func::FuncOp op) { return converter.isSignatureLegal(op.getFunctionType()); });
    target.addDynamicallyLegalOp<func::ReturnOp>(
        [&](func::ReturnOp op) { return converter.isLegal(op); });

    RewritePatternSet patterns(context);
    populateFunctionOpInterfaceTypeConversionPattern<func::FuncOp>(patterns, converter);
    populateReturnOpTypeConversionPattern(patterns, converter);
    populateAttentionPatterns(converter, patterns);
    populateCastPatterns(converter, patterns);
    populateContextPatterns(converter, patterns);
    populateContractPatterns(converter, patterns, shortProducts, turnedOperands);
    populateConvolutionPatterns(converter, patterns);
    populateElementwisePatterns(converter, patterns);
    populateFiniteTestPatterns(converter, patterns, finiteTests);
    populateIndexingPatterns(converter, patterns);
    populateMovementPatterns(converter, patterns);
    populateNormalizationPatterns(converter, patterns);
    populateOptimizerStepPatterns(converter, patterns);
    populatePoolPatterns(converter, patterns);
    populateQuantizationPatterns(converter, patterns);
    populateRandomPatterns(converter, patterns);
    populateReducePatterns(converter, patterns);
    populateResamplePatterns(converter, patterns);
    populateScanPatterns(converter, patterns);
    populateSelectionPatterns(converter, patterns);
    populateSoftmaxPatterns(converter, patterns);
    populateTrainingPatterns(converter, patterns);
    FrozenRewritePatternSet frozen(std::move(patterns));

    const ProductParts parts{reluMasks, gelu, columnSums, roundedSums, inputCasts};
    ConversionTarget firstTarget(target);
    firstTarget.addDynamicallyLegalDialect<MpcDialect>(
        [&](Operation *op) { return parts.concern(op); });

    ConversionConfig config;
    config.allowPatternRollback = false;
    config.foldingMode = DialectConversionFoldingMode::Never;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!isEntry(function))
        continue;
      keepElementTypes(function);
      if (narrowWeights)
        markNarrowWeights(function);
      if (failed(applyPartialConversion(function, firstTarget, frozen, config)))
        return signalPassFailure();
      eraseDeadOps(function);
      parts.takeFrom(function);
      if (failed(applyPartialConversion(function, target, frozen, config)))
        return signalPassFailure();
      eraseDeadOps(function);
    }
  }
};
} // namespace
