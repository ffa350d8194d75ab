// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Types of views, and who takes them.
#include "lib/Buffers/StridedBuffer.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mpc;

MemRefType mpc::getTypeOfView(Operation *view, MemRefType source) {
  if (auto expand = dyn_cast<memref::ExpandShapeOp>(view)) {
    auto type = memref::ExpandShapeOp::computeExpandedType(
        source, expand.getResultType().getShape(), expand.getReassociationIndices());
    return succeeded(type) ? *type : MemRefType();
  }
  if (auto collapse = dyn_cast<memref::CollapseShapeOp>(view)) {
    auto groups = collapse.getReassociationIndices();
    return memref::CollapseShapeOp::isGuaranteedCollapsible(source, groups)
               ? memref::CollapseShapeOp::computeCollapsedType(source, groups)
               : MemRefType();
  }
  if (auto subview = dyn_cast<memref::SubViewOp>(view))
    return memref::SubViewOp::inferRankReducedResultType(
        subview.getType().getShape(), source, subview.getMixedOffsets(), subview.getMixedSizes(),
        subview.getMixedStrides());
  return {};
}

/// Whether the user of the buffer, no view, takes one of the type there.
static bool takes(OpOperand &use, MemRefType type) {
  Operation *user = use.getOwner();
  if (auto call = dyn_cast<mpcrt::ServiceCallOpInterface>(user))
    return mpcrt::detail::isDense(
        type, cast<DestinationStyleOpInterface>(call.getOperation()).isDpsInit(&use));
  // Calls that are no services become loops, as linalg ops do. Ops of memref take any strides
  // unless they make another memref of this one.
  return isa<linalg::LinalgOp, mpcrt::BufferizedCallOpInterface>(user) ||
         (isa_and_nonnull<memref::MemRefDialect>(user->getDialect()) &&
          llvm::none_of(user->getResultTypes(), llvm::IsaPred<BaseMemRefType>));
}

bool mpc::canHaveType(Value buffer, MemRefType type) {
  SmallVector<std::pair<Value, MemRefType>> pending{{buffer, type}};
  while (!pending.empty()) {
    auto [value, strided] = pending.pop_back_val();
    for (OpOperand &use : value.getUses()) {
      if (MemRefType view = getTypeOfView(use.getOwner(), strided))
        pending.push_back({use.getOwner()->getResult(0), view});
      else if (!takes(use, strided))
        return false;
    }
  }
  return true;
}

void mpc::replaceAllocation(RewriterBase &rewriter, memref::AllocOp alloc, Value buffer) {
  SmallVector<std::pair<Operation *, Value>> pending{{alloc, buffer}};
  while (!pending.empty()) {
    const std::pair<Operation *, Value> next = pending.pop_back_val();
    Operation *old = next.first;
    Value replacement = next.second;
    for (OpOperand &use : llvm::make_early_inc_range(old->getResult(0).getUses())) {
      Operation *user = use.getOwner();
      MemRefType type = getTypeOfView(user, cast<MemRefType>(replacement.getType()));
      if (!type) {
        rewriter.modifyOpInPlace(user, [&] { use.set(replacement); });
        continue;
      }
      rewriter.setInsertionPoint(user);
      Operation *view = rewriter.clone(*user);
      view->setOperand(0, replacement);
      view->getResult(0).setType(type);
      pending.push_back({user, view->getResult(0)});
    }
  }
  // Views of views come later in the block than what they are of.
  SmallVector<Operation *> dead{alloc};
  for (size_t i = 0; i < dead.size(); ++i)
    for (Operation *user : dead[i]->getResult(0).getUsers())
      dead.push_back(user);
  for (Operation *op : llvm::reverse(dead))
    rewriter.eraseOp(op);
}
