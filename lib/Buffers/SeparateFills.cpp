// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-separate-fills: one linalg.fill for each op that starts from it.
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mpc/Codegen/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_SEPARATEFILLSPASS
#include "mpc/Codegen/Passes.h.inc"
} // namespace mpc

using namespace mlir;

namespace {
struct SeparateFills : mpc::impl::SeparateFillsPassBase<SeparateFills> {
  void runOnOperation() override {
    SmallVector<linalg::FillOp> fills;
    getOperation().walk([&](linalg::FillOp fill) { fills.push_back(fill); });
    for (linalg::FillOp fill : fills) {
      if (!fill.hasPureTensorSemantics())
        continue;
      SmallVector<OpOperand *> starts;
      for (OpOperand &use : fill->getUses())
        if (auto user = dyn_cast<DestinationStyleOpInterface>(use.getOwner());
            user && user.isDpsInit(&use))
          starts.push_back(&use);
      // The last of all uses keeps this one; plain reads may share it.
      if (fill->hasOneUse() || starts.empty())
        continue;
      OpBuilder builder(fill);
      for (OpOperand *start : starts) {
        builder.setInsertionPoint(start->getOwner());
        start->set(builder.clone(*fill)->getResult(0));
      }
      if (fill->use_empty())
        fill.erase();
    }
  }
};
} // namespace
