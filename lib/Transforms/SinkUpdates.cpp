// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-sink-updates: what only the end of a step needs, and small, is computed there, all of it
// together. On a GPU the time of such ops is waiting, not work.
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mpc/Transforms/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_SINKUPDATES
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// The most numbers of a small tensor, for all samples or for each: it may live until the end.
static constexpr int64_t kMostElements = 16384, kMostOfSample = 2;

static bool isSmall(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return false;
  int64_t elements = 1;
  bool isOfSample = false;
  for (int64_t extent : tensor.getShape()) {
    const bool isOpen = ShapedType::isDynamic(extent);
    isOfSample |= isOpen;
    if (!isOpen && llvm::MulOverflow(elements, extent, elements))
      return false;
  }
  return elements <= (isOfSample ? kMostOfSample : kMostElements);
}

/// Whether it reads and gives small tensors only, and nobody sees when it runs. Ranks see when one
/// of them sends something.
static bool isSmallWork(Operation *op) {
  return op->getNumResults() != 0 && op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
         !isa<AllReduceOp>(op) && !op->hasTrait<OpTrait::ConstantLike>() &&
         !op->hasTrait<OpTrait::IsTerminator>() && llvm::all_of(op->getOperandTypes(), isSmall) &&
         llvm::all_of(op->getResultTypes(), isSmall);
}

namespace {
struct SinkUpdatesPass : mpc::impl::SinkUpdatesBase<SinkUpdatesPass> {
  LogicalResult runOnEntry(func::FuncOp entry) const override {
    Block &body = entry.getBody().front();
    Operation *terminator = body.getTerminator();
    llvm::SmallPtrSet<Operation *, 32> atEnd{terminator};
    SmallVector<Operation *> sunk; // the last one first
    for (Operation &op : llvm::reverse(body)) {
      auto isAtEnd = [&](Operation *user) { return atEnd.contains(user); };
      if (op.use_empty() || !isSmallWork(&op) || !llvm::all_of(op.getUsers(), isAtEnd))
        continue;
      atEnd.insert(&op);
      sunk.push_back(&op);
    }
    for (Operation *op : llvm::reverse(sunk))
      op->moveBefore(terminator);
    return success();
  }
};
} // namespace
