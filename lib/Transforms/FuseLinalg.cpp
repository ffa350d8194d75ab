// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-fuse-linalg: chains of elementwise ops as one kernel each, decided by the work and the memory
// traffic that a merge costs.
#include "Fusion.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mpc/Transforms/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_FUSELINALG
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;
using linalg::GenericOp;

/// More operands than this in one kernel spill addresses.
static constexpr size_t kMaxOperands = 24;
/// Ops of a body that is cheaper to repeat than to store.
static constexpr int64_t kCheapOps = 6;

/// Ops of a body that is long enough to look for what it computes twice.
static constexpr size_t kLongBody = 256;

/// Casts, comparisons and selections only.
static bool isCheap(GenericOp op) {
  int64_t count = 0;
  for (Operation &inner : op.getBody()->without_terminator()) {
    if (isa<arith::ConstantOp>(inner))
      continue;
    if (!isa<CastOpInterface, arith::CmpFOp, arith::CmpIOp, arith::SelectOp, arith::AndIOp,
             arith::NegFOp, linalg::IndexOp>(inner))
      return false;
    ++count;
  }
  return count <= kCheapOps;
}

static int64_t bytesOf(Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  return element.isIntOrFloat() ? llvm::divideCeil(element.getIntOrFloatBitWidth(), 8) : 8;
}

/// Whether repeating the producer in a consumer reads no more than its result would cost.
static bool readsNoMore(GenericOp producer) {
  int64_t reads = 0, writes = 0;
  for (OpOperand *input : producer.getDpsInputOperands())
    if (producer.getMatchingIndexingMap(input).isPermutation())
      reads += bytesOf(input->get());
  for (Value result : producer.getResults())
    writes += bytesOf(result);
  return reads <= writes;
}

namespace {
enum class Merge { No, Only, Repeat, Share };

struct Decision {
  Merge merge;
  StringRef reason;
};
} // namespace

/// Whether `consumer` may take the producer's place for all its users: it runs over the same
/// elements in the same order and comes first.
static bool canShare(GenericOp producer, GenericOp consumer, OpOperand *operand) {
  if (consumer.getNumReductionLoops() != 0 ||
      !consumer.getMatchingIndexingMap(operand).isIdentity())
    return false;
  for (OpOperand &init : producer.getDpsInitsMutable())
    if (!producer.getMatchingIndexingMap(&init).isIdentity())
      return false;
  return llvm::all_of(producer->getUsers(), [&](Operation *user) {
    return user == consumer ||
           (user->getBlock() == consumer->getBlock() && consumer->isBeforeInBlock(user));
  });
}

static Decision decide(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<GenericOp>();
  auto consumer = cast<GenericOp>(operand->getOwner());
  if (producer->getBlock() != consumer->getBlock())
    return {Merge::No, "a loop would compute it again in every step"};
  for (OpOperand &init : producer.getDpsInitsMutable())
    if (producer.payloadUsesValueFromOperand(&init))
      return {Merge::No, "the producer updates its destination in place"};
  llvm::SmallPtrSet<Value, 32> operands;
  operands.insert_range(producer->getOperands());
  operands.insert_range(consumer->getOperands());
  // What one value is read for counts, too: squares of squares would double it each time.
  if (operands.size() > kMaxOperands ||
      producer->getNumOperands() + consumer->getNumOperands() > 4 * kMaxOperands)
    return {Merge::No, "the kernel would have too many operands"};
  bool cheap = isCheap(producer);
  bool repeats = !consumer.getMatchingIndexingMap(operand).isPermutation();
  // Such as a matrix that was turned so that neighbours read neighbours.
  for (OpOperand *other : consumer.getDpsInputOperands())
    if (other->get() == operand->get() &&
        consumer.getMatchingIndexingMap(other) != consumer.getMatchingIndexingMap(operand))
      return {Merge::No, "it is read at several places: each would compute it again"};
  bool only = llvm::all_of(producer->getUsers(), [&](Operation *user) { return user == consumer; });
  if (repeats && !cheap)
    return {Merge::No, "its value is broadcast: every repetition would compute it again"};
  if (only)
    return {Merge::Only, ""};
  bool vanishes = llvm::all_of(
      producer->getUses(), [](OpOperand &use) { return linalg::areElementwiseOpsFusable(&use); });
  if (cheap && (vanishes || readsNoMore(producer)))
    return {Merge::Repeat, ""};
  if (canShare(producer, consumer, operand))
    return {Merge::Share, ""};
  return {Merge::No, cheap ? "its value is stored anyway and is smaller than its operands"
                           : "it has other users and is too expensive to repeat"};
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

/// Merges one producer into `consumer`; the merged op, or null.
static GenericOp mergeOne(IRRewriter &rewriter, GenericOp consumer) {
  for (OpOperand *operand : consumer.getDpsInputOperands()) {
    if (!linalg::areElementwiseOpsFusable(operand))
      continue;
    Decision decision = decide(operand);
    if (decision.merge == Merge::No)
      continue;
    auto producer = operand->get().getDefiningOp<GenericOp>();
    rewriter.setInsertionPoint(consumer);
    auto fused = linalg::fuseElementwiseOps(rewriter, operand);
    if (failed(fused))
      continue;
    remark::passed(consumer.getLoc(), fusionRemark("elementwise"))
        << (decision.merge == Merge::Repeat  ? "producer repeated in its consumer"
            : decision.merge == Merge::Share ? "producer merged; others read the merged op's result"
                                             : "producer merged into its only consumer");
    bool repeated = decision.merge == Merge::Repeat;
    for (const auto &entry : fused->replacements)
      // A repeated producer keeps its other users. The merged op may read it once more.
      if (entry.first.getDefiningOp() != producer || !repeated)
        rewriter.replaceUsesWithIf(entry.first, entry.second, [&](OpOperand &use) {
          return use.getOwner() != fused->fusedOp;
        });
    rewriter.eraseOp(consumer);
    if (producer->use_empty())
      rewriter.eraseOp(producer);
    auto merged = cast<GenericOp>(fused->fusedOp);
    removeRepeated(rewriter, merged);
    return merged;
  }
  return nullptr;
}

/// Places of producers' results that were kept but not used.
static void dropUnusedResults(func::FuncOp function) {
  RewritePatternSet patterns(function.getContext());
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
  GreedyRewriteConfig config;
  config.enableFolding(false).enableConstantCSE(false).setRegionSimplificationLevel(
      GreedySimplifyRegionLevel::Disabled);
  (void)applyPatternsGreedily(function, std::move(patterns), config);
}

namespace {
struct FuseLinalg : mpc::impl::FuseLinalgBase<FuseLinalg> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(MpcDialect::kEntryAttr) && llvm::hasSingleElement(function.getBody()))
        fuse(function);
  }

  void fuse(func::FuncOp function) {
    IRRewriter rewriter(&getContext());
    // Equal ops, such as what is one number per step in each variable's update, become one first.
    removeEqual(rewriter, function);
    for (bool changed = true; changed;) {
      changed = fuse(rewriter, function.getBody().front());
      function.walk([&](scf::ForOp loop) { changed |= fuse(rewriter, *loop.getBody()); });
      dropUnusedResults(function);
    }
    removeEqual(rewriter, function);
    foldIndices(rewriter, function);
    remarkRefused(function);
  }

  static bool fuse(IRRewriter &rewriter, Block &block) {
    bool changed = false;
    for (Operation *op = &block.front(); op; op = op->getNextNode())
      if (auto generic = dyn_cast<GenericOp>(op))
        while (GenericOp merged = mergeOne(rewriter, generic)) {
          generic = merged;
          op = merged;
          changed = true;
        }
    return changed;
  }

  static void removeEqual(IRRewriter &rewriter, func::FuncOp function) {
    DominanceInfo dominance(function);
    eliminateCommonSubExpressions(rewriter, dominance, function);
  }

  /// Merging maps the producer's loop indices through affine.apply; over the same loops that is the
  /// identity.
  static void foldIndices(IRRewriter &rewriter, func::FuncOp function) {
    function.walk([&](affine::AffineApplyOp apply) {
      if (auto dim = dyn_cast<AffineDimExpr>(apply.getAffineMap().getResult(0)))
        rewriter.replaceOp(apply, apply.getMapOperands()[dim.getPosition()]);
    });
  }

  static void remarkRefused(func::FuncOp function) {
    function.walk([&](GenericOp consumer) {
      for (OpOperand *operand : consumer.getDpsInputOperands())
        if (linalg::areElementwiseOpsFusable(operand))
          if (Decision decision = decide(operand); decision.merge == Merge::No)
            remark::missed(consumer.getLoc(), fusionRemark("elementwise"))
                << "producer not merged: " << decision.reason;
    });
  }
};
} // namespace
