// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-fuse: groups that become one library call or one kernel.
#include "lib/Transforms/Fusion.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Transforms/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_FUSE
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {
struct FusePass : mpc::impl::FuseBase<FusePass> {
  using FuseBase::FuseBase;

  void runOnModule() override {
    IRRewriter rewriter(&getContext());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!isEntry(function))
        continue;
      // The cross-entropy looks through the logarithm, so it comes first.
      if (logits)
        forEach<SoftmaxCrossEntropyOp>(function, [&](auto op) { fuseCrossEntropy(rewriter, op); });
      forEach<LogOp>(function, [&](auto op) { fuseLogSoftmax(rewriter, op); });
      forEach<EpilogueOpInterface>(function, [&](auto op) { fuseEpilogue(rewriter, op); });
    }
  }

  template <typename Op>
  static void forEach(func::FuncOp function, llvm::function_ref<void(Op)> rewrite) {
    SmallVector<Op> ops;
    function.walk([&](Op op) { ops.push_back(op); });
    for (Op op : ops)
      rewrite(op);
  }
};
} // namespace
