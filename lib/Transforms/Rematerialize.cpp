// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-rematerialize: what the forward pass would keep for one kernel of the backward pass is
// computed again there, where that keeps less.
#include "lib/Transforms/Fusion.h"
#include "lib/Transforms/MergeKernels.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Analysis/LayerPath.h"
#include "mpc/Transforms/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_REMATERIALIZE
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;
using linalg::GenericOp;

/// Adds the ops of the body that make `value`; false where these make random numbers, which take
/// longer than reading them.
static bool collectWork(Value value, llvm::SmallPtrSetImpl<Operation *> &ops) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<arith::ConstantOp>(op) || !ops.insert(op).second)
    return true;
  return !isa<arith::MulUIExtendedOp>(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return collectWork(operand, ops); });
}

static int64_t workOf(const llvm::SmallPtrSetImpl<Operation *> &ops) {
  int64_t work = 0;
  for (Operation *op : ops)
    work += mpc::workOf(op);
  return work;
}

static bool isIdentity(GenericOp op, OpOperand &operand) {
  return op.getMatchingIndexingMap(&operand).isIdentity();
}

/// Whether `consumer` alone reads the result, element by element, and its values can be computed
/// there; `work` receives how.
static bool isKeptFor(GenericOp consumer, OpOperand &init,
                      llvm::SmallPtrSetImpl<Operation *> &work) {
  auto producer = cast<GenericOp>(init.getOwner());
  OpResult result = producer.getTiedOpResult(&init);
  const bool isAlone = llvm::all_of(result.getUses(), [&](OpOperand &use) {
    return use.getOwner() == consumer && isIdentity(consumer, use) &&
           linalg::areElementwiseOpsFusable(&use);
  });
  return !result.use_empty() && isAlone && isIdentity(producer, init) &&
         collectWork(producer.getMatchingYieldValue(&init)->get(), work);
}

/// The results of `producer` that `consumer` should compute itself: all that it can, or none.
static SmallVector<OpResult> findKept(GenericOp producer, GenericOp consumer, int64_t workPerByte) {
  SmallVector<OpResult> kept;
  int64_t bytes = 0;
  llvm::SmallPtrSet<Operation *, 32> work;
  for (OpOperand &init : producer.getDpsInitsMutable()) {
    if (producer.payloadUsesValueFromOperand(&init))
      return {};
    llvm::SmallPtrSet<Operation *, 32> own;
    if (!isKeptFor(consumer, init, own))
      continue;
    work.insert_range(own);
    kept.push_back(producer.getTiedOpResult(&init));
    bytes += bytesOf(kept.back());
  }
  // Operands that are broadcast are small.
  for (OpOperand *input : producer.getDpsInputOperands())
    if (producer.getMatchingIndexingMap(input).isPermutation() &&
        !llvm::is_contained(consumer->getOperands(), input->get()))
      bytes -= bytesOf(input->get());
  const bool isWorthIt = bytes > 0 && workOf(work) <= workPerByte * bytes;
  return isWorthIt && fitOneKernel(producer, consumer, kept.size()) ? kept
                                                                    : SmallVector<OpResult>();
}

/// Merges what one producer keeps for `consumer` into it; the merged op, or null.
static GenericOp rematerializeOne(IRRewriter &rewriter, GenericOp consumer, int64_t workPerByte) {
  for (OpOperand *operand : consumer.getDpsInputOperands()) {
    auto producer = operand->get().getDefiningOp<GenericOp>();
    if (!producer || producer->getBlock() != consumer->getBlock() ||
        producer.getNumReductionLoops() != 0)
      continue;
    const Location loc = consumer.getLoc();
    const std::string layer = layerPathOf(producer.getLoc()).str();
    GenericOp merged;
    // The last use may take the producer with it.
    for (OpResult result : findKept(producer, consumer, workPerByte)) {
      const Type type = result.getType();
      for (int64_t uses = llvm::range_size(result.getUses()); uses > 0; --uses) {
        GenericOp next = mergeProducer(rewriter, &*result.use_begin(), /*repeats=*/true);
        if (!next)
          return merged;
        merged = next;
      }
      remark::passed(loc, fusionRemark("rematerialize"))
          << remark::add("computed again instead of kept: type={0} layer={1}", type, layer);
    }
    if (merged)
      return merged;
  }
  return nullptr;
}

namespace {
struct RematerializePass : mpc::impl::RematerializeBase<RematerializePass> {
  using RematerializeBase::RematerializeBase;

  LogicalResult runOnEntry(func::FuncOp entry) const override {
    if (llvm::hasSingleElement(entry.getBody()))
      mergeKernels(entry, [&](IRRewriter &rewriter, GenericOp consumer) {
        return rematerializeOne(rewriter, consumer, workPerByte);
      });
    return success();
  }
};
} // namespace
