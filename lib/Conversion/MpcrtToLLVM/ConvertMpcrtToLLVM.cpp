// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass: kernels and entries to the LLVM dialect.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "dialects/mpcrt/IR/ServicesSize.h"
#include "lib/Conversion/MpcrtToLLVM/Lowering.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Threading.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mpc-rt/abi_version.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Analysis/EntrySignature.h"
#include "mpc/Analysis/ScalarOps.h"
#include "mpc/Conversion/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_CONVERTMPCRTTOLLVM
#include "mpc/Conversion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// Functions without an instruction become calls of libm. MathToLLVM would make log1p(x) log(1 +
/// x).
static void lowerToLibm(ModuleOp module) {
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (isa_and_nonnull<math::MathDialect>(op->getDialect()) &&
        !scalarPropertiesOf(op).isInstruction)
      ops.push_back(op);
  });
  RewritePatternSet patterns(module.getContext());
  populateMathToLibmConversionPatterns(patterns);
  (void)applyOpPatternsGreedily(ops, std::move(patterns));
}

/// Bits that become a number and bits again stay bits. Without optimisation LLVM would take a
/// bfloat16 between the two through float32, by functions that nothing links.
static void foldBits(ModuleOp module) {
  module.walk([](LLVM::BitcastOp op) {
    auto number = op.getArg().getDefiningOp<LLVM::BitcastOp>();
    if (!number || number.getArg().getType() != op.getType())
      return;
    op.replaceAllUsesWith(number.getArg());
    op.erase();
    if (number.use_empty())
      number.erase();
  });
}

/// The watched step has the calls of the step, in its order, and the numbers of these: the runtime
/// then computes both alike, by the same plans, and what it measured of one holds for the other.
static LogicalResult lowerEntries(ArrayRef<func::FuncOp> entries, TablePositions &tables) {
  CallIds ofStep;
  for (func::FuncOp entry : entries) {
    const CallIds before = tables.ids;
    const std::optional<EntryRole> role = entryRoleOf(entry);
    const bool isWatched = role == EntryRole::WatchedStep;
    if (role == EntryRole::TrainStep)
      ofStep = tables.ids;
    if (isWatched)
      tables.ids = ofStep;
    tables.suffix = isWatched ? "_watched" : "";
    if (failed(lowerEntry(entry, tables)))
      return failure();
    if (isWatched)
      tables.ids = before;
  }
  return success();
}

namespace {
struct ConvertMpcrtToLLVMPass : mpc::impl::ConvertMpcrtToLLVMBase<ConvertMpcrtToLLVMPass> {
  void runOnModule() override {
    ModuleOp module = getOperation();
    TablePositions tables;
    for (auto variable : module.getOps<VariableOp>())
      tables.variables.try_emplace(FlatSymbolRefAttr::get(variable.getSymNameAttr()),
                                   tables.variables.size());
    SmallVector<func::FuncOp> entries, kernels, hostLoops;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (isEntry(function)) {
        if (failed(verifyEntrySignature(function)))
          return signalPassFailure();
        entries.push_back(function);
      } else if (function->hasAttr(mpcrt::MpcrtDialect::kKernelAttr)) {
        kernels.push_back(function);
      } else if (!function.isDeclaration()) {
        hostLoops.push_back(function);
      }
    }
    for (func::FuncOp kernel : kernels) {
      tables.kernelIndex[kernel.getSymNameAttr()] = tables.kernels.size();
      tables.kernels.push_back(FlatSymbolRefAttr::get(kernel.getSymNameAttr()));
    }

    lowerToLibm(module);
    if (failed(expandSmallFloats(module)))
      return signalPassFailure();
    orderSums(module);
    lowerLoopExtremes(module);
    annotateIndependentLoops(module);
    if (failed(lowerEntries(entries, tables)))
      return signalPassFailure();
    for (func::FuncOp kernel : kernels)
      lowerKernel(kernel);
    lowerHostLoops(module, hostLoops);
    if (failed(convertRest(module)))
      return signalPassFailure();
    foldBits(module);
    module->setAttr(mpcrt::MpcrtDialect::kKernelsAttr,
                    ArrayAttr::get(&getContext(), tables.kernels));
    module->setAttr(mpcrt::MpcrtDialect::kAbiVersionAttr,
                    Builder(module).getI32IntegerAttr(MPC_RT_ABI_VERSION));
    module->setAttr(mpcrt::kServicesSizeAttr,
                    Builder(module).getI64IntegerAttr(tables.servicesSize));
    if (tables.reductions != 0)
      module->setAttr(mpcrt::kDistributedAttr, UnitAttr::get(&getContext()));
    // The latch took the loop's annotation as a discardable attribute; LLVM IR is made of the
    // property.
    module.walk([](Operation *op) {
      if (auto annotation = op->getAttrOfType<LLVM::LoopAnnotationAttr>("llvm.loop_annotation")) {
        op->removeAttr("llvm.loop_annotation");
        if (auto branch = dyn_cast<LLVM::BrOp>(op))
          branch.setLoopAnnotationAttr(annotation);
        else if (auto branch = dyn_cast<LLVM::CondBrOp>(op))
          branch.setLoopAnnotationAttr(annotation);
      }
    });
  }

private:
  /// Everything between the calls: functions do not need each other for it, and what else the
  /// module has (declarations of libm) comes behind them. Globals are ours: descriptors and tables.
  LogicalResult convertRest(ModuleOp module) {
    SmallVector<Operation *> withBody, others;
    for (Operation &op : module.getBody()->getOperations())
      if (isa<LLVM::LLVMFuncOp>(op) && !op.getRegion(0).empty())
        withBody.push_back(&op);
      else if (!isa<LLVM::GlobalOp>(op))
        others.push_back(&op);

    RewritePatternSet structured(&getContext()), expansions(&getContext()), patterns(&getContext());
    populateSCFToControlFlowConversionPatterns(structured);
    arith::populateArithExpandOpsPatterns(expansions);
    LowerToLLVMOptions options(&getContext());
    LLVMTypeConverter converter(&getContext(), options);
    converter.addConversion(
        [](MemRefType type) -> Type { return LLVM::LLVMPointerType::get(type.getContext()); });
    converter.addConversion([](IntegerType type) -> Type {
      return IntegerType::get(type.getContext(), type.getWidth());
    });
    // Upstream's own would build descriptors.
    auto castTo = [](OpBuilder &builder, Type type, ValueRange inputs, Location loc) -> Value {
      return UnrealizedConversionCastOp::create(builder, loc, type, inputs).getResult(0);
    };
    converter.addSourceMaterialization(castTo);
    converter.addTargetMaterialization(castTo);
    populateMemoryPatterns(converter, patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    populateFuncToLLVMConversionPatterns(converter, patterns); // libm's declarations and calls
    const FrozenRewritePatternSet toBlocks(std::move(structured)), toSimple(std::move(expansions)),
        toLLVM(std::move(patterns));

    if (failed(failableParallelForEach(&getContext(), withBody, [&](Operation *op) {
          return success(succeeded(flatten(op, toBlocks, toSimple)) &&
                         succeeded(finish(op, toLLVM)));
        })))
      return failure();
    return finish(others, toLLVM);
  }

  /// Loops become blocks, and ops without an instruction several that have one. Most functions of
  /// the host have no loop.
  static LogicalResult flatten(Operation *op, const FrozenRewritePatternSet &toBlocks,
                               const FrozenRewritePatternSet &toSimple) {
    bool hasLoops = false;
    op->walk([&](Operation *inner) {
      hasLoops = hasLoops || isa_and_nonnull<scf::SCFDialect>(inner->getDialect());
    });
    ConversionTarget flat(*op->getContext());
    flat.addIllegalDialect<scf::SCFDialect>();
    flat.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    if (hasLoops && failed(applyPartialConversion(op, flat, toBlocks)))
      return failure();
    // LLVM simplifies regions itself.
    return applyPatternsGreedily(
        op, toSimple,
        GreedyRewriteConfig().enableFolding(false).setRegionSimplificationLevel(
            GreedySimplifyRegionLevel::Disabled));
  }

  static LogicalResult finish(ArrayRef<Operation *> ops, const FrozenRewritePatternSet &toLLVM) {
    if (ops.empty())
      return success();
    ConversionTarget target(*ops.front()->getContext());
    target.addLegalDialect<LLVM::LLVMDialect, MpcDialect>();
    target.addLegalOp<UnrealizedConversionCastOp>();
    // Ops of which conversion makes others are gone behind it.
    SmallVector<Operation *> kept;
    for (Operation *op : ops)
      if (isa_and_nonnull<LLVM::LLVMDialect>(op->getDialect()))
        kept.push_back(op);
    if (failed(applyFullConversion(ops, target, toLLVM)))
      return failure();
    SmallVector<UnrealizedConversionCastOp> casts, left;
    for (Operation *op : kept)
      op->walk([&](UnrealizedConversionCastOp cast) { casts.push_back(cast); });
    reconcileUnrealizedCasts(casts, &left);
    for (UnrealizedConversionCastOp cast : left)
      cast.emitOpError("has no LLVM form");
    return success(left.empty());
  }
};
} // namespace
