// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The largest or smallest value of a loop, such as softmax's of a row. Upstream expands it into two
// comparisons and selections, in which LLVM's vectorizer sees no reduction: such a loop ran one
// element at a time.
#include "lib/Conversion/MpcrtToLLVM/Lowering.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

void mpc::lowerLoopExtremes(ModuleOp module) {
  IRRewriter rewriter(module.getContext());
  // NaN wins as in arith; which of two zeros is larger has never been promised.
  constexpr auto flags = LLVM::FastmathFlags::nsz;
  module.walk([&](scf::ForOp loop) {
    for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i) {
      SmallVector<Operation *> chain;
      if (!matchReduction(loop.getRegionIterArgs(), i, chain) || chain.size() != 1)
        continue;
      rewriter.setInsertionPoint(chain[0]);
      if (auto most = dyn_cast<arith::MaximumFOp>(chain[0]))
        rewriter.replaceOpWithNewOp<LLVM::MaximumOp>(most, most.getLhs(), most.getRhs(), flags);
      else if (auto least = dyn_cast<arith::MinimumFOp>(chain[0]))
        rewriter.replaceOpWithNewOp<LLVM::MinimumOp>(least, least.getLhs(), least.getRhs(), flags);
    }
  });
}
