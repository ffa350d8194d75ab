// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The new slots have fixed sizes; they come first because only there no multiple of the batch is
// before them, which may be no multiple of the alignment.
#include "lib/Conversion/LinalgToMpcrt/HostSpill.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mpc/Analysis/BatchExtent.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpc;
using mpcrt::MpcrtDialect;

/// A cache line, as in mpc-plan-memory.
static constexpr int64_t kAlignment = 64;

HostSpill::HostSpill(func::FuncOp entry) : entry(entry), batch(getBatchArgument(entry)) {
  for (BlockArgument argument : entry.getArguments())
    if (entry.getArgAttr(argument.getArgNumber(), MpcrtDialect::kArenaAttr))
      arena = argument;
  entry.walk([&](mpcrt::ViewOp view) {
    if (view.getArena() == arena)
      existing.push_back(view);
  });
}

Value HostSpill::allocate(MemRefType type) {
  OpBuilder builder = OpBuilder::atBlockBegin(&entry.getBody().front());
  int64_t size = type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  auto view = mpcrt::ViewOp::create(builder, entry.getLoc(), type, arena, batch, bytes,
                                    /*per_sample=*/0, /*extent=*/1);
  bytes += llvm::alignTo(std::max<int64_t>(1, size), kAlignment);
  return view;
}

void HostSpill::replaceAllocas() {
  SmallVector<memref::AllocaOp> allocas;
  entry.walk([&](memref::AllocaOp op) {
    if (op.getType().hasStaticShape())
      allocas.push_back(op);
  });
  for (memref::AllocaOp op : allocas) {
    op.replaceAllUsesWith(allocate(op.getType()));
    op.erase();
  }
}

Operation *HostSpill::throughMemory(Value value, ArrayRef<OpOperand *> uses) {
  Value slot = allocate(MemRefType::get({}, value.getType()));
  OpBuilder builder(entry.getContext());
  builder.setInsertionPointAfterValue(value);
  auto store = memref::StoreOp::create(builder, value.getLoc(), value, slot, ValueRange());
  for (OpOperand *use : uses) {
    OpBuilder before(use->getOwner());
    use->set(memref::LoadOp::create(before, value.getLoc(), slot, ValueRange()));
  }
  return store;
}

void HostSpill::finish() {
  if (bytes == 0)
    return;
  Builder builder(entry.getContext());
  for (Operation *op : existing) {
    auto view = cast<mpcrt::ViewOp>(op);
    view.setFixed(view.getFixed() + bytes);
  }
  auto fixed = entry->getAttrOfType<IntegerAttr>(MpcrtDialect::kArenaFixedAttr);
  entry->setAttr(MpcrtDialect::kArenaFixedAttr,
                 builder.getIntegerAttr(fixed.getType(), fixed.getInt() + bytes));
}
