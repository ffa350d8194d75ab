// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// On the CPU a kernel loops over a part of its launch, and passes rows from one loop to the next
// through small arrays. A thread of a GPU takes one iteration: most of that is one number in a
// register, which compiles several times faster and reads better.
#include "lib/Codegen/CUDA/ThreadKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Mem2Reg.h"

using namespace mlir;
using namespace mpc;

static FrozenRewritePatternSet canonicalPatterns(MLIRContext *context) {
  RewritePatternSet patterns(context);
  for (Dialect *dialect : context->getLoadedDialects())
    dialect->getCanonicalizationPatterns(patterns);
  for (RegisteredOperationName name : context->getRegisteredOperations())
    name.getCanonicalizationPatterns(patterns, context);
  return patterns;
}

ThreadKernels::ThreadKernels(MLIRContext *context) : canonical(canonicalPatterns(context)) {}

/// Whether a loop from `begin` to `bound` has one iteration when `end` is `begin` + 1: blocks of
/// rows end at min(begin + 1, end).
static bool endsAfterOne(Value bound, Value begin, Value end) {
  if (bound == end)
    return true;
  auto least = bound.getDefiningOp<arith::MinUIOp>();
  if (!least || !llvm::is_contained(least->getOperands(), end))
    return false;
  Value other = least.getLhs() == end ? least.getRhs() : least.getLhs();
  auto sum = other.getDefiningOp<arith::AddIOp>();
  return sum && sum.getLhs() == begin && matchPattern(sum.getRhs(), m_One());
}

static void takeOneIteration(func::FuncOp kernel) {
  Value begin = kernel.getArguments().drop_back().back(), end = kernel.getArguments().back();
  SmallVector<scf::ForOp> loops;
  kernel.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) { loops.push_back(loop); });
  IRRewriter rewriter(kernel.getContext());
  for (scf::ForOp loop : loops) {
    if (loop.getLowerBound() != begin || !endsAfterOne(loop.getUpperBound(), begin, end))
      continue;
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    SmallVector<Value> arguments{begin};
    llvm::append_range(arguments, loop.getInitArgs());
    rewriter.inlineBlockBefore(loop.getBody(), loop, arguments);
    rewriter.replaceOp(loop, yield.getOperands());
    rewriter.eraseOp(yield);
  }
}

OwningOpRef<func::FuncOp> ThreadKernels::make(func::FuncOp kernel) const {
  OwningOpRef<func::FuncOp> made(kernel.clone());
  takeOneIteration(*made);
  auto simplify = [&] {
    // The result is right without convergence, too.
    (void)applyPatternsGreedily(*made, canonical);
    IRRewriter rewriter(made->getContext());
    DominanceInfo dominance(*made);
    eliminateCommonSubExpressions(rewriter, dominance, *made);
  };
  simplify();
  SmallVector<PromotableAllocationOpInterface> temporaries;
  made->walk([&](PromotableAllocationOpInterface op) { temporaries.push_back(op); });
  DominanceInfo dominance(*made);
  OpBuilder builder(made->getContext());
  if (!temporaries.empty() && succeeded(tryToPromoteMemorySlots(
                                  temporaries, builder, DataLayout::closest(kernel), dominance)))
    simplify();
  return made;
}
