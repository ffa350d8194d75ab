// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-group-rows: chains of structured ops that depend row by row.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Buffers/RowGroup.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/IR/Remarks.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Buffers/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_GROUPROWS
#include "mpc/Buffers/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// A temporary of more bytes per row stays in the arena: its block would not stay in the
/// first-level cache and might be large for a thread's stack.
static constexpr int64_t kMaxLocalBytesPerRow = 4096;

/// Whether only ops of the group touch the buffer, each row by row.
static bool isLocal(memref::AllocOp alloc, const RowGroup &group) {
  auto perRow = group.bytesPerRow(alloc.getType());
  if (!perRow || *perRow > kMaxLocalBytesPerRow)
    return false;
  for (Operation *user : alloc->getUsers())
    if (!group.contains(user))
      return false;
  return group.isRowWise(alloc);
}

/// Temporaries of the group, which become memory of a block of rows.
static SmallVector<memref::AllocOp> findLocals(const RowGroup &group) {
  llvm::SetVector<Value> written;
  for (Operation *member : group.getOps())
    for (Value output : cast<linalg::LinalgOp>(member).getDpsInits())
      written.insert(output);
  SmallVector<memref::AllocOp> locals;
  for (Value buffer : written)
    if (auto alloc = buffer.getDefiningOp<memref::AllocOp>(); alloc && isLocal(alloc, group))
      locals.push_back(alloc);
  return locals;
}

/// Whether `longer`, a group with one more op, which counts rows by fewer loops, costs more than it
/// saves: temporaries (`locals` without the op) that no longer fit into a block are written to the
/// arena, while the op alone reads again what the group has just touched.
static bool spills(ArrayRef<memref::AllocOp> locals, const RowGroup &longer) {
  int64_t spilled = 0, reread = 0;
  for (memref::AllocOp alloc : locals)
    if (!isLocal(alloc, longer))
      spilled += longer.bytesPerRow(alloc.getType()).value_or(0);
  for (OpOperand *input : cast<linalg::LinalgOp>(longer.getOps().back()).getDpsInputOperands())
    if (auto type = dyn_cast<MemRefType>(input->get().getType()))
      reread += longer.bytesPerRow(type).value_or(0);
  return spilled > reread;
}

/// Moves the group's ops into an mpcrt.rows where the last of them stands, and what waited for them
/// behind it.
static void build(IRRewriter &rewriter, const RowGroup &group) {
  ArrayRef<Operation *> members = group.getOps();
  SmallVector<memref::AllocOp> locals = findLocals(group);
  Location loc = members.front()->getLoc();
  rewriter.setInsertionPoint(members.back());
  auto rows = mpcrt::RowsOp::create(rewriter, loc, group.getLoops());
  Block *body = rewriter.createBlock(&rows.getBody());
  for (memref::AllocOp alloc : locals) {
    rewriter.setInsertionPointToEnd(body);
    rewriter.replaceOpWithNewOp<memref::AllocaOp>(alloc, alloc.getType(), alloc.getDynamicSizes());
  }
  for (Operation *member : members) {
    rewriter.moveOpBefore(member, body, body->end());
    if (!isa<linalg::GenericOp>(member)) {
      rewriter.setInsertionPoint(member);
      (void)linalg::generalizeNamedOp(rewriter, cast<linalg::LinalgOp>(member));
    }
  }
  Operation *last = rows;
  for (Operation *op : group.getPostponed())
    if (op->isBeforeInBlock(rows)) {
      rewriter.moveOpAfter(op, last);
      last = op;
    }
  remark::passed(loc, remark::RemarkOpts::name("rows").category("mpc-kernels"))
      << remark::metric("ops", members.size()) << remark::metric("local", locals.size());
}

namespace {
struct GroupRowsPass : mpc::impl::GroupRowsBase<GroupRowsPass> {
  using GroupRowsBase::GroupRowsBase;

  LogicalResult runOnEntry(func::FuncOp entry) const override {
    IRRewriter rewriter(entry.getContext());
    for (Block &block : entry.getBody())
      gather(rewriter, block);
    return success();
  }

  static bool add(RowGroup &group, Operation *op) {
    const RowGroup::State before = group.getState();
    if (!group.add(op))
      return false;
    if (group.getLoops() >= before.loops || before.ops == 0)
      return true;
    group.restore(before);
    SmallVector<memref::AllocOp> locals = findLocals(group);
    if (!group.add(op) || !spills(locals, group))
      return true;
    group.restore(before);
    return false;
  }

  static RowGroup groupFrom(Operation *first, RowGroup group) {
    if (group.add(first))
      for (Operation *op = first->getNextNode();
           op && !group.isFull() && (add(group, op) || group.canPass(op) || group.postpone(op));)
        op = op->getNextNode();
    return group;
  }

  /// On a GPU rows are as short as possible: all loops of an elementwise op count them, or all but
  /// one where that is what the ops behind it reduce over.
  RowGroup groupFrom(Operation *first, RowAccesses &known) const {
    if (device == Device::cpu)
      return groupFrom(first, RowGroup(known, /*keepsRows=*/false));
    RowGroup group = groupFrom(first, RowGroup(known, /*keepsRows=*/true));
    if (unsigned loops = group.getLoops(); loops > 1 && !group.isWorthwhile())
      return groupFrom(first, RowGroup(known, /*keepsRows=*/true, loops - 1));
    return group;
  }

  void gather(IRRewriter &rewriter, Block &block) const {
    // On a CPU the two would be loops one after the other, as they are without a group.
    RowAccesses known(/*findsWhole=*/device == Device::cuda);
    for (Operation *first = block.empty() ? nullptr : &block.front(); first;) {
      Operation *next = first->getNextNode();
      if (RowGroup group = groupFrom(first, known); group.isWorthwhile()) {
        next = group.getOps().back()->getNextNode();
        known.forget(group.getOps());
        build(rewriter, group);
      }
      first = next;
    }
  }
};
} // namespace
