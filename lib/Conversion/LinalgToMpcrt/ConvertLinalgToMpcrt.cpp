// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass: every structured op of every entry, in order.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Conversion/LinalgToMpcrt/KernelOutliner.h"
#include "lib/Conversion/LinalgToMpcrt/ScatterKernel.h"
#include "lib/Conversion/LinalgToMpcrt/SelectionKernels.h"
#include "lib/Conversion/LinalgToMpcrt/TurnKernel.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Conversion/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_CONVERTLINALGTOMPCRT
#include "mpc/Conversion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

static LogicalResult convert(func::FuncOp entry, bool isOnDevice) {
  IRRewriter rewriter(entry.getContext());
  // Copies between strided views are loops, as those of rows; other dense ones stay, as memory
  // copies of the host.
  entry.walk([&](memref::CopyOp copy) {
    auto isDense = [](Value value) {
      return cast<MemRefType>(value.getType()).getLayout().isIdentity();
    };
    if (!isOnDevice && isDense(copy.getSource()) && isDense(copy.getTarget()) &&
        !copy->getParentOfType<mpcrt::ParallelRowsOp>())
      return;
    rewriter.setInsertionPoint(copy);
    linalg::CopyOp::create(rewriter, copy.getLoc(), copy.getSource(), copy.getTarget());
    rewriter.eraseOp(copy);
  });
  KernelOutliner outliner(entry, isOnDevice);
  bool failedOnce = false;
  SmallVector<mpcrt::RowsOp> groups;
  entry.walk([&](mpcrt::RowsOp rows) { groups.push_back(rows); });
  for (mpcrt::RowsOp rows : groups)
    failedOnce |= failed(outliner.outline(rows));
  SmallVector<linalg::LinalgOp> ops;
  entry.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
  for (linalg::LinalgOp op : ops) {
    auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
    if (!generic) {
      rewriter.setInsertionPoint(op);
      auto generalized = linalg::generalizeNamedOp(rewriter, op);
      if (failed(generalized)) {
        op.emitOpError("has no loop form");
        failedOnce = true;
        continue;
      }
      generic = *generalized;
    }
    if (!generic.hasPureBufferSemantics()) {
      generic.emitOpError("is not on buffers; run the phase buffers first");
      failedOnce = true;
      continue;
    }
    failedOnce |= failed(outliner.outline(generic));
  }
  SmallVector<mpcrt::ScatterAddOp> scatters;
  entry.walk([&](mpcrt::ScatterAddOp op) { scatters.push_back(op); });
  for (mpcrt::ScatterAddOp op : scatters)
    failedOnce |= failed(outlineScatterAdd(entry, op));
  SmallVector<mpcrt::TurnOp> turns;
  entry.walk([&](mpcrt::TurnOp op) { turns.push_back(op); });
  for (mpcrt::TurnOp op : turns)
    failedOnce |= failed(outlineTurn(entry, op));
  SmallVector<Operation *> selections;
  entry.walk([&](Operation *op) {
    if (isa<mpcrt::CompactOp, mpcrt::SelectBoxesOp>(op))
      selections.push_back(op);
  });
  for (Operation *op : selections)
    failedOnce |= failed(outlineSelection(entry, op));
  return failure(failedOnce);
}

namespace {
struct ConvertLinalgToMpcrtPass : mpc::impl::ConvertLinalgToMpcrtBase<ConvertLinalgToMpcrtPass> {
  using ConvertLinalgToMpcrtBase::ConvertLinalgToMpcrtBase;
  void runOnModule() override {
    SmallVector<func::FuncOp> entries;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isEntry(function))
        entries.push_back(function);
    for (func::FuncOp entry : entries) {
      if (!getBatchArgument(entry)) {
        entry.emitOpError("has no argument mpcrt.batch; run the phase buffers first");
        return signalPassFailure();
      }
      if (failed(convert(entry, device == Device::cuda)))
        signalPassFailure();
    }
    mergeEqualKernels(getOperation());
  }
};
} // namespace
