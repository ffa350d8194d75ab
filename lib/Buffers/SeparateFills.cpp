// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-separate-fills: one linalg.fill or tensor.empty for each op that starts from it.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mpc/Buffers/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_SEPARATEFILLS
#include "mpc/Buffers/Passes.h.inc"
} // namespace mpc

using namespace mlir;

/// Gives each op that starts from `start` a copy of it. Plain reads may share one.
static void separate(Operation *start) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : start->getUses())
    if (auto user = dyn_cast<DestinationStyleOpInterface>(use.getOwner());
        user && user.isDpsInit(&use))
      uses.push_back(&use);
  if (start->hasOneUse() || uses.empty())
    return;
  OpBuilder builder(start);
  for (OpOperand *use : uses) {
    builder.setInsertionPoint(use->getOwner());
    use->set(builder.clone(*start)->getResult(0));
  }
  if (start->use_empty())
    start->erase();
}

namespace {
struct SeparateFillsPass : mpc::impl::SeparateFillsBase<SeparateFillsPass> {
  /// A concatenation that is inserted into something else, as a step of a scan, is an allocation of
  /// its own: its parts are computed there, and one copy brings them on, where otherwise each of
  /// them would be copied.
  void allocateConcatenations() {
    getOperation().walk([](mpc::mpcrt::ConcatenateOp op) {
      auto empty = op.getOut().getDefiningOp<tensor::EmptyOp>();
      if (!empty || !empty->hasOneUse())
        return;
      OpBuilder builder(empty);
      empty.replaceAllUsesWith(bufferization::AllocTensorOp::create(builder, empty.getLoc(),
                                                                    empty.getType(),
                                                                    empty.getDynamicSizes())
                                   .getResult());
      empty.erase();
    });
  }

  void runOnOperation() override {
    SmallVector<Operation *> fills, empties;
    getOperation().walk([&](linalg::FillOp fill) {
      if (fill.hasPureTensorSemantics())
        fills.push_back(fill);
    });
    llvm::for_each(fills, separate);
    // After the fills, whose copies share an empty tensor.
    getOperation().walk([&](tensor::EmptyOp empty) { empties.push_back(empty); });
    llvm::for_each(empties, separate);
    allocateConcatenations();
  }
};
} // namespace
