// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-verify-import: the exit contract of the phase `import`.
#include "dialects/mpc/IR/Mpc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mpc/Transforms/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_VERIFYIMPORT
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {
struct VerifyImport : mpc::impl::VerifyImportBase<VerifyImport> {
  void runOnOperation() override {
    bool ok = true;
    for (Operation &op : *getOperation().getBody())
      op.walk([&](Operation *nested) { ok &= succeeded(verify(nested)); });
    if (!ok)
      signalPassFailure();
  }

  static LogicalResult verify(Operation *op) {
    if (!isa_and_present<MpcDialect, func::FuncDialect>(op->getDialect()))
      return op->emitError() << "op '" << op->getName()
                             << "' does not belong to phase import; expected ops of mpc and func "
                                "only";
    auto layer = dyn_cast<LayerOp>(op);
    if (!layer)
      return success();
    if (layer.getPath().empty())
      return layer.emitError() << "a layer of kind \"" << layer.getKind()
                               << "\" has no path; expected Keras's, by which policies find it";
    if (layer.getPrecision())
      return layer.emitError() << "layer \"" << layer.getPath()
                               << "\" has a precision already; expected that of its policy, which "
                                  "the phase policy decides";
    return success();
  }
};
} // namespace
