// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Entries side by side: what MLIR's pass manager does for passes on functions, behind a check of
// the whole module.
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Threading.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Analysis/PhasePass.h"

using namespace mlir;
using namespace mpc;

LogicalResult mpc::forEachEntry(ModuleOp module,
                                llvm::function_ref<LogicalResult(func::FuncOp)> run) {
  SmallVector<func::FuncOp> entries;
  for (auto function : module.getOps<func::FuncOp>())
    if (isEntry(function))
      entries.push_back(function);
  MLIRContext *context = module.getContext();
  std::atomic<bool> failedOnce = false;
  auto runOne = [&](func::FuncOp entry) {
    if (failed(run(entry)))
      failedOnce = true;
  };
  if (context->getRemarkEngine()) {
    llvm::for_each(entries, runOne);
    return failure(failedOnce);
  }
  ParallelDiagnosticHandler handler(context);
  parallelFor(context, 0, entries.size(), [&](size_t index) {
    handler.setOrderIDForThread(index);
    runOne(entries[index]);
    handler.eraseOrderIDForThread();
  });
  return failure(failedOnce);
}
