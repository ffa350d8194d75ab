// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Transforms/MergeKernels.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using linalg::GenericOp;

/// More operands than this in one kernel spill addresses.
static constexpr size_t kMaxOperands = 24;
/// A body of more work is not merged any further: LLVM's time grows faster than the code of a
/// function, three times over (levels of instructions), and a kernel of so much work is not bound
/// by the memory that merging saves. Of bodies in the conformance cases the largest, the cell of an
/// LSTM, has 117. See benchmarks/compile-growth, elementwise chains: what they were measured with.
static constexpr int64_t kMaxWork = 768;
/// Ops of a body that is long enough to look for what it computes twice.
static constexpr size_t kLongBody = 256;

int64_t mpc::bytesOf(Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  return element.isIntOrFloat() ? llvm::divideCeil(element.getIntOrFloatBitWidth(), 8) : 8;
}

int64_t mpc::workOf(Operation *op) {
  return isa<CastOpInterface>(op)                   ? 0
         : isa<math::ErfOp, math::ErfcOp>(op)       ? 32
         : isa<math::MathDialect>(op->getDialect()) ? 16
                                                    : 1;
}

/// The ops for one element; casts are code, too.
static int64_t codeOf(GenericOp op) {
  int64_t work = 0;
  for (Operation &inner : op.getBody()->without_terminator())
    if (!isa<arith::ConstantOp>(inner))
      work += std::max<int64_t>(1, mpc::workOf(&inner));
  return work;
}

bool mpc::fitOneKernel(GenericOp producer, GenericOp consumer, size_t times) {
  llvm::SmallPtrSet<Value, 32> operands;
  operands.insert_range(producer->getOperands());
  operands.insert_range(consumer->getOperands());
  // The number of values that one value is computed from counts, too: squares of squares would
  // double it each time.
  return operands.size() <= kMaxOperands &&
         times * producer->getNumOperands() + consumer->getNumOperands() <= 4 * kMaxOperands &&
         static_cast<int64_t>(times) * codeOf(producer) + codeOf(consumer) <= kMaxWork;
}

/// A value that is read twice is merged twice, and what it was made of four times, and so on:
/// squares of squares would double the body with each of them. Shorter bodies are left to LLVM.
static void removeRepeated(IRRewriter &rewriter, GenericOp op) {
  if (op.getBody()->getOperations().size() < kLongBody)
    return;
  llvm::DenseMap<std::pair<Value, AffineMap>, BlockArgument> first;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(operand);
    auto [known, isNew] =
        first.try_emplace({operand->get(), op.getMatchingIndexingMap(operand)}, argument);
    if (!isNew)
      rewriter.replaceAllUsesWith(argument, known->second);
  }
  DominanceInfo dominance(op);
  eliminateCommonSubExpressions(rewriter, dominance, op);
}

GenericOp mpc::mergeProducer(IRRewriter &rewriter, OpOperand *operand, bool repeats) {
  auto producer = operand->get().getDefiningOp<GenericOp>();
  auto consumer = cast<GenericOp>(operand->getOwner());
  rewriter.setInsertionPoint(consumer);
  auto fused = linalg::fuseElementwiseOps(rewriter, operand);
  if (failed(fused))
    return nullptr;
  for (const auto &entry : fused->replacements)
    // A repeated producer keeps its other users. The merged op may read it once more.
    if (entry.first.getDefiningOp() != producer || !repeats)
      rewriter.replaceUsesWithIf(entry.first, entry.second,
                                 [&](OpOperand &use) { return use.getOwner() != fused->fusedOp; });
  rewriter.eraseOp(consumer);
  if (producer->use_empty())
    rewriter.eraseOp(producer);
  auto merged = cast<GenericOp>(fused->fusedOp);
  removeRepeated(rewriter, merged);
  return merged;
}

/// Indices of producers' results that were kept but not used.
static void dropUnusedResults(func::FuncOp function) {
  RewritePatternSet patterns(function.getContext());
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
  GreedyRewriteConfig config;
  config.enableFolding(false).enableConstantCSE(false).setRegionSimplificationLevel(
      GreedySimplifyRegionLevel::Disabled);
  (void)applyPatternsGreedily(function, std::move(patterns), config);
}

static void removeEqual(IRRewriter &rewriter, func::FuncOp function) {
  DominanceInfo dominance(function);
  eliminateCommonSubExpressions(rewriter, dominance, function);
}

/// Merging maps the producer's loop indices through affine.apply: arithmetic from here on, which
/// over the same loops is the index itself.
static void expandIndices(IRRewriter &rewriter, func::FuncOp function) {
  function.walk([&](affine::AffineApplyOp apply) {
    rewriter.setInsertionPoint(apply);
    const AffineMap map = apply.getAffineMap();
    ValueRange operands = apply.getMapOperands();
    rewriter.replaceOp(apply, affine::expandAffineExpr(rewriter, apply.getLoc(), map.getResult(0),
                                                       operands.take_front(map.getNumDims()),
                                                       operands.drop_front(map.getNumDims())));
  });
}

void mpc::mergeKernels(func::FuncOp entry,
                       llvm::function_ref<GenericOp(IRRewriter &, GenericOp)> merge) {
  IRRewriter rewriter(entry.getContext());
  // Equal ops, such as what is one number per step in each variable's update, become one first.
  removeEqual(rewriter, entry);
  auto mergeIn = [&](Block &block) {
    bool changed = false;
    for (Operation *op = &block.front(); op; op = op->getNextNode())
      if (auto generic = dyn_cast<GenericOp>(op))
        while (GenericOp merged = merge(rewriter, generic)) {
          generic = merged;
          op = merged;
          changed = true;
        }
    return changed;
  };
  for (bool changed = true; changed;) {
    changed = mergeIn(entry.getBody().front());
    entry.walk([&](scf::ForOp loop) { changed |= mergeIn(*loop.getBody()); });
    dropUnusedResults(entry);
  }
  removeEqual(rewriter, entry);
  expandIndices(rewriter, entry);
}
