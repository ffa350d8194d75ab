// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The exit contract of the phase buffers.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Analysis/EntrySignature.h"
#include "mpc/Buffers/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_VERIFYBUFFERS
#include "mpc/Buffers/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;
using mpcrt::MpcrtDialect;

/// Strides are static and only the leading extent may be dynamic: one pointer says it all.
static bool isPointerLike(MemRefType type) {
  for (int64_t dim = 1; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      return false;
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(type.getStridesAndOffset(strides, offset)) &&
         llvm::none_of(strides, ShapedType::isDynamic);
}

/// Whether some op writes into `buffer` or a view of it.
static bool isWritten(Value buffer, const BufferViewFlowAnalysis &views) {
  for (Value alias : views.resolve(buffer))
    for (OpOperand &use : alias.getUses()) {
      auto effects = dyn_cast<MemoryEffectOpInterface>(use.getOwner());
      if (!effects)
        continue;
      SmallVector<MemoryEffects::EffectInstance> instances;
      effects.getEffectsOnValue(alias, instances);
      if (llvm::any_of(instances, [](auto &e) { return isa<MemoryEffects::Write>(e.getEffect()); }))
        return true;
    }
  return false;
}

static LogicalResult verifyEntry(func::FuncOp entry) {
  if (failed(verifyEntrySignature(entry)))
    return failure();
  BufferViewFlowAnalysis views(entry);
  for (BlockArgument argument : entry.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto has = [&](StringRef name) { return entry.getArgAttr(index, name) != nullptr; };
    if (has(MpcrtDialect::kOutputAttr) && !isWritten(argument, views))
      return entry.emitOpError() << "never writes output "
                                 << entry.getArgAttr(index, MpcrtDialect::kOutputAttr);
    if ((has(MpcDialect::kInputAttr) || has(MpcDialect::kTargetAttr)) && isWritten(argument, views))
      return entry.emitOpError() << "writes into its input " << index;
  }
  return success();
}

namespace {
struct VerifyBuffersPass : mpc::impl::VerifyBuffersBase<VerifyBuffersPass> {
  void runOnOperation() override {
    bool failedOnce = false;
    auto fail = [&](Operation *op) {
      failedOnce = true;
      return op->emitOpError();
    };
    getOperation().walk([&](Operation *op) {
      if (isa<MpcDialect>(op->getDialect()) || isa<ModuleOp>(op))
        return;
      for (Type type : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes())) {
        if (isa<TensorType>(type)) {
          fail(op) << "is on tensors after the phase buffers";
          return;
        }
        if (auto memref = dyn_cast<MemRefType>(type); memref && !isPointerLike(memref)) {
          fail(op) << "uses " << memref << ", whose strides are not static";
          return;
        }
      }
      if (isa<memref::AllocOp, memref::DeallocOp, bufferization::AllocTensorOp>(op))
        fail(op) << "allocates; every temporary is an mpcrt.view of the arena";
      if (auto global = dyn_cast<memref::GlobalOp>(op); global && !global.getConstant())
        fail(op) << "is mutable; state is passed as arguments";
      if (auto entry = dyn_cast<func::FuncOp>(op); entry && isEntry(entry))
        failedOnce |= failed(verifyEntry(entry));
    });
    if (failedOnce)
      signalPassFailure();
  }
};
} // namespace
