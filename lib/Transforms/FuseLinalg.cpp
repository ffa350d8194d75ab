// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-fuse-linalg: chains of elementwise ops as one kernel each, decided by the work and the memory
// traffic that a merge costs.
#include "lib/Transforms/Fusion.h"
#include "lib/Transforms/HostScalars.h"
#include "lib/Transforms/MergeKernels.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Analysis/ScalarOps.h"
#include "mpc/Transforms/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_FUSELINALG
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;
using linalg::GenericOp;

/// Ops of a body that is cheaper to repeat than to store.
static constexpr int64_t kCheapOps = 6;

namespace {
enum class Work {
  Moves,      ///< casts, comparisons and selections
  Arithmetic, ///< sums, differences and products of these, too
  More
};
} // namespace

static Work workOf(GenericOp op) {
  int64_t count = 0;
  Work work = Work::Moves;
  for (Operation &inner : op.getBody()->without_terminator()) {
    if (isa<arith::ConstantOp>(inner))
      continue;
    if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(inner))
      work = Work::Arithmetic;
    else if (!isa<CastOpInterface>(inner) && !scalarPropertiesOf(&inner).isCheap)
      return Work::More;
    ++count;
  }
  return count <= kCheapOps ? work : Work::More;
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
  if (!fitOneKernel(producer, consumer))
    return {Merge::No, "the kernel would have too many operands or ops"};
  const Work work = workOf(producer);
  const bool cheap = work == Work::Moves;
  bool repeats = !consumer.getMatchingIndexingMap(operand).isPermutation();
  // An example is a matrix that was transposed so that neighbours read neighbours.
  for (OpOperand *other : consumer.getDpsInputOperands())
    if (other->get() == operand->get() &&
        consumer.getMatchingIndexingMap(other) != consumer.getMatchingIndexingMap(operand))
      return {Merge::No, "it is read at several indices: each would compute it again"};
  bool only = llvm::all_of(producer->getUsers(), [&](Operation *user) { return user == consumer; });
  if (repeats && !cheap)
    return {Merge::No, "its value is broadcast: every repetition would compute it again"};
  if (only)
    return {Merge::Only, ""};
  // Asking all users takes long, and is the last to be asked for.
  const auto vanishes = [&] {
    return llvm::all_of(producer->getUses(),
                        [](OpOperand &use) { return linalg::areElementwiseOpsFusable(&use); });
  };
  if (cheap && (readsNoMore(producer) || vanishes()))
    return {Merge::Repeat, ""};
  // The centered values of a normalisation, whose input lies in memory anyway.
  if (work == Work::Arithmetic && readsNoMore(producer) && vanishes())
    return {Merge::Repeat, ""};
  if (canShare(producer, consumer, operand))
    return {Merge::Share, ""};
  return {Merge::No, cheap ? "its value is stored anyway and is smaller than its operands"
                           : "it has other users and is too expensive to repeat"};
}

/// Merges one producer into `consumer`; the merged op, or null.
static GenericOp mergeOne(IRRewriter &rewriter, GenericOp consumer) {
  for (OpOperand *operand : consumer.getDpsInputOperands()) {
    if (!linalg::areElementwiseOpsFusable(operand))
      continue;
    const Decision decision = decide(operand);
    if (decision.merge == Merge::No)
      continue;
    const Location loc = consumer.getLoc();
    GenericOp merged = mergeProducer(rewriter, operand, decision.merge == Merge::Repeat);
    if (!merged)
      continue;
    remark::passed(loc, fusionRemark("elementwise"))
        << (decision.merge == Merge::Repeat  ? "producer repeated in its consumer"
            : decision.merge == Merge::Share ? "producer merged; others read the merged op's result"
                                             : "producer merged into its only consumer");
    return merged;
  }
  return nullptr;
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

namespace {
struct FuseLinalgPass : mpc::impl::FuseLinalgBase<FuseLinalgPass> {
  using FuseLinalgBase::FuseLinalgBase;

  LogicalResult runOnEntry(func::FuncOp entry) const override {
    if (!llvm::hasSingleElement(entry.getBody()))
      return success();
    mergeKernels(entry, mergeOne);
    // After it, which makes ops of constants one. On a CPU a number in memory costs nothing.
    if (device == Device::cuda) {
      IRRewriter rewriter(entry.getContext());
      passHostScalars(rewriter, entry);
    }
    // Reasons are not looked for where nobody reads them.
    if (entry.getContext()->getRemarkEngine())
      remarkRefused(entry);
    return success();
  }
};
} // namespace
