// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mpc-overlap-reductions: reductions over ranks go on while a rank computes. They go in buckets,
// each a message as large as is worth one, and are waited for in front of the first op that touches
// one of their arrays.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Remarks.h"
#include "mpc/Buffers/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_OVERLAPREDUCTIONS
#include "mpc/Buffers/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// The allocation or argument that a buffer is a view of.
static Value baseOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  return buffer;
}

/// The first op of the block behind `op` that touches the memory of `buffer`, or the terminator.
static Operation *findFirstTouch(Operation *op, Value buffer) {
  Operation *first = op->getBlock()->getTerminator();
  SmallVector<Value> aliases{baseOf(buffer)};
  while (!aliases.empty())
    for (Operation *user : aliases.pop_back_val().getUsers()) {
      if (isa<ViewLikeOpInterface>(user)) {
        aliases.append(user->result_begin(), user->result_end());
        continue;
      }
      Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*user);
      if (ancestor && op->isBeforeInBlock(ancestor) && ancestor->isBeforeInBlock(first))
        first = ancestor;
    }
  return first;
}

namespace {
/// Reductions that go in one message.
struct Bucket {
  SmallVector<mpcrt::AllReduceOp> reductions;
  int64_t bytes = 0;
  Operation *firstTouch = nullptr;

  /// Whether one that comes later may go with these.
  bool takes(mpcrt::AllReduceOp op, int64_t size, int64_t limit) {
    if (reductions.empty())
      return true;
    mpcrt::AllReduceOp last = reductions.back();
    return last.getKind() == op.getKind() && last.getBefore() == op.getBefore() &&
           last.getInBfloat16() == op.getInBfloat16() &&
           getElementTypeOrSelf(last.getOut().getType()) ==
               getElementTypeOrSelf(op.getOut().getType()) &&
           bytes + size <= limit && op->isBeforeInBlock(firstTouch);
  }

  void add(mpcrt::AllReduceOp op, int64_t size) {
    Operation *touch = findFirstTouch(op, op.getOut());
    if (!firstTouch || touch->isBeforeInBlock(firstTouch))
      firstTouch = touch;
    reductions.push_back(op);
    bytes += size;
  }

  /// Sends it, and waits.
  void close(int64_t number) {
    OpBuilder builder(firstTouch);
    reductions.back().setEndsBucket(true);
    for (mpcrt::AllReduceOp op : reductions) {
      op.setBucket(number);
      // One for each array, so that no later pass moves what touches it.
      mpcrt::WaitForRanksOp::create(builder, op.getLoc(), TypeRange(), op.getOut(), number,
                                    op.getLayer());
    }
  }
};

class OverlapReductionsPass : public mpc::impl::OverlapReductionsBase<OverlapReductionsPass> {
public:
  using OverlapReductionsBase::OverlapReductionsBase;

  void runOnModule() override {
    for (auto entry : getOperation().getOps<func::FuncOp>())
      if (!entry.isExternal() && failed(overlap(entry)))
        return signalPassFailure();
  }

private:
  LogicalResult overlap(func::FuncOp entry) {
    SmallVector<mpcrt::AllReduceOp> all;
    WalkResult walked = entry.walk([&](mpcrt::AllReduceOp op) {
      if (op->getParentOp() != entry)
        return op.emitOpError("stands in a loop: the ranks of a job would have to agree on its "
                              "steps"),
               WalkResult::interrupt();
      all.push_back(op);
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return failure();
    if (llvm::any_of(all, [](mpcrt::AllReduceOp op) { return op.getEndsBucket(); }))
      return success(); // a run before this one
    Bucket bucket;
    int64_t number = 0, bytes = 0;
    for (mpcrt::AllReduceOp op : all) {
      auto type = cast<MemRefType>(op.getOut().getType());
      const int64_t bits = op.getInBfloat16() ? 16 : type.getElementTypeBitWidth();
      const int64_t size = type.getNumElements() * bits / 8;
      bytes += size;
      if (!bucket.takes(op, size, bucketBytes)) {
        bucket.close(number++);
        bucket = {};
      }
      bucket.add(op, size);
    }
    if (!bucket.reductions.empty())
      bucket.close(number++);
    if (!all.empty())
      remark::passed(
          entry.getLoc(),
          remark::RemarkOpts::name("buckets").category("mpc-distribute").function(entry.getName()))
          << (llvm::Twine(all.size()) + " reductions over ranks of " + llvm::Twine(bytes) +
              " bytes go in " + llvm::Twine(number) + " messages")
                 .str();
    return success();
  }
};
} // namespace
