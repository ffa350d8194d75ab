// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass: the training step once more, with reports of what its kernels leave in memory.
#include "lib/Numerics/Trace/ArenaEnd.h"
#include "lib/Numerics/Trace/WatchedRoundings.h"
#include "lib/Numerics/Trace/WatchedValues.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mpc/Analysis/BatchExtent.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Numerics/Trace/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_WATCHSTEP
#include "mpc/Numerics/Trace/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// The results that kernels consume have a place in the arena, one after the other the same:
/// nothing reads one behind its interleave and the report.
static void storeConsumed(func::FuncOp step) {
  ArenaEnd arena(step);
  SmallVector<mpcrt::ViewOp> views;
  int64_t mostFixed = 0, mostPerSample = 0;
  step.walk([&](mpcrt::ViewOp view) {
    if (!view.getUnstored() || !arena.isOfArena(view))
      return;
    views.push_back(view);
    mostFixed = std::max(mostFixed, rangeOf(view).fixedEnd);
    mostPerSample = std::max(mostPerSample, rangeOf(view).perSampleEnd);
  });
  const int64_t behind = arena.getFixed();
  const int64_t offset = mostFixed ? arena.takeFixed(mostFixed) : 0;
  const int64_t offsetPerSample = mostPerSample ? arena.takePerSample(mostPerSample) : 0;
  for (mpcrt::ViewOp view : views) {
    const bool grows = rangeOf(view).perSampleEnd != 0;
    view.setUnstored(false);
    view.setFixed(static_cast<uint64_t>(grows ? behind : offset));
    view.setPerSample(static_cast<uint64_t>(grows ? offsetPerSample : 0));
  }
  arena.close();
}

using ReportedOps = SmallVector<std::pair<Operation *, SmallVector<WatchedValue>>>;

namespace {
/// Copies of the weights that ops update, each from before the first one that does. They are made
/// right before it, when the cache is about to have the weights anyway. Most weights are updated by
/// one op: all of these share a place, since nothing reads a copy behind the report.
class KeptWeights {
public:
  KeptWeights(func::FuncOp step, const ReportedOps &found) : step(step), arena(step) {
    llvm::DenseMap<Value, unsigned> updates;
    for (const auto &[op, values] : found)
      forEachUpdate(values, [&](Value weights) { ++updates[weights]; });
    int64_t mostShared = 0;
    for (const auto &[op, values] : found) {
      int64_t shared = 0;
      forEachUpdate(values, [&](Value weights) {
        if (updates.lookup(weights) == 1)
          shared += sizeOf(weights);
      });
      mostShared = std::max(mostShared, shared);
    }
    const int64_t place = mostShared ? arena.takeFixed(mostShared) : 0;
    for (const auto &[op, values] : found) {
      OpBuilder builder(op);
      int64_t shared = place;
      forEachUpdate(values, [&](Value weights) {
        if (copies.contains(weights))
          return;
        const bool isShared = updates.lookup(weights) == 1;
        const int64_t offset = isShared ? shared : arena.takeFixed(sizeOf(weights));
        shared += isShared ? sizeOf(weights) : 0;
        copies[weights] = copy(builder, weights, offset);
      });
    }
    arena.close();
  }

  Value find(Value weights) const { return copies.lookup(weights); }

private:
  static void forEachUpdate(ArrayRef<WatchedValue> values, llvm::function_ref<void(Value)> look) {
    for (const WatchedValue &value : values)
      if (value.isUpdate)
        look(value.buffer);
  }
  static int64_t sizeOf(Value weights) {
    auto type = cast<MemRefType>(weights.getType());
    return ArenaEnd::align(type.getNumElements() * type.getElementTypeBitWidth() / 8);
  }
  Value copy(OpBuilder &builder, Value weights, int64_t offset) {
    Value old = mpcrt::ViewOp::create(builder, step.getLoc(), cast<MemRefType>(weights.getType()),
                                      arena.getMemory(), getBatchArgument(step),
                                      static_cast<uint64_t>(offset), /*per_sample=*/0);
    memref::CopyOp::create(builder, step.getLoc(), weights, old);
    return old;
  }

  func::FuncOp step;
  ArenaEnd arena;
  llvm::DenseMap<Value, Value> copies;
};
} // namespace

/// The buffer where `builder` stands: views inside of loops do not reach there.
static Value reach(OpBuilder &builder, Value buffer) {
  auto view = buffer.getDefiningOp<mpcrt::ViewOp>();
  if (!view || view->getBlock() == builder.getBlock())
    return buffer;
  return cast<mpcrt::ViewOp>(builder.clone(*view)).getResult();
}

/// The numbers of a value: a copy of them where they are padded in memory.
static Value withoutPadding(OpBuilder &builder, const WatchedValue &value, ReportRoom &room) {
  Value buffer = reach(builder, value.buffer);
  memref::SubViewOp part = value.part;
  if (!part)
    return buffer;
  room.startAgain();
  IRMapping mapping;
  mapping.map(part.getSource(), buffer);
  Value numbers = builder.clone(*part, mapping)->getResult(0);
  mpcrt::ViewOp copy =
      room.makeView(builder, numbers, cast<MemRefType>(part.getType()).getElementType());
  if (!copy) {
    remark::missed(part.getLoc(), remark::RemarkOpts::name("watched-values")
                                      .category("mpc-numerics")
                                      .function(part->getParentOfType<func::FuncOp>().getSymName()))
        << "zeros of padding are counted: the shape without them is no function of the batch";
    return buffer;
  }
  memref::CopyOp::create(builder, part.getLoc(), numbers, copy);
  return copy;
}

static void watch(func::FuncOp step) {
  BufferUses uses(step->getParentOfType<ModuleOp>());
  storeConsumed(step);
  WatchedValues watched(step, uses);
  // All of it is found before anything is added.
  ReportedOps found;
  for (Operation &op : step.getBody().front())
    found.emplace_back(&op, watched.of(&op));
  const KeptWeights kept(step, found);
  const WatchedRoundings roundings(step, uses);
  ReportRoom room(step);
  int64_t slot = 0;
  auto report = [&](OpBuilder &builder, Location loc, ArrayRef<WatchedValue> values) {
    for (const WatchedValue &value : values) {
      mpcrt::TraceOp::create(builder, loc, withoutPadding(builder, value, room), value.before,
                             value.direction, slot++, value.op, value.layer, ArrayRef<int64_t>(),
                             value.isScaled, /*format=*/TypeAttr());
      if (Value old = value.isUpdate ? kept.find(value.buffer) : Value())
        mpcrt::TraceOp::create(builder, loc, value.buffer, old, value.direction, slot++,
                               "update:" + StringRef(value.op).split(':').second.str(), value.layer,
                               ArrayRef<int64_t>(), /*scaled=*/false, /*format=*/TypeAttr(),
                               /*change=*/true);
    }
  };
  OpBuilder builder = OpBuilder::atBlockBegin(&step.getBody().front());
  report(builder, step.getLoc(), watched.inputs());
  for (auto &[op, values] : found) {
    builder.setInsertionPointAfter(op);
    for (const WatchedRounding &value : roundings.of(op))
      mpcrt::TraceOp::create(builder, op->getLoc(), value.rounded, value.before, value.direction,
                             slot++, RoundFloat8Op::getOperationName().rsplit('.').second,
                             value.layer, ArrayRef<int64_t>(), /*scaled=*/false,
                             value.format ? TypeAttr::get(value.format) : TypeAttr());
    report(builder, op->getLoc(), values);
  }
  room.close();
  // The reports read them now.
  step.walk([](mpcrt::InterleaveOp both) { both.setConsumed(false); });
  remark::passed(step.getLoc(), remark::RemarkOpts::name("watched-values")
                                    .category("mpc-numerics")
                                    .function(step.getSymName()))
      << remark::metric("values", slot) << " values are reported";
}

namespace {
struct WatchStepPass : mpc::impl::WatchStepBase<WatchStepPass> {
  void runOnModule() override {
    ModuleOp module = getOperation();
    if (findEntry(module, EntryRole::WatchedStep))
      return;
    if (func::FuncOp step = findEntry(module, EntryRole::TrainStep))
      watch(copyEntry(step, EntryRole::WatchedStep));
  }
};
} // namespace
