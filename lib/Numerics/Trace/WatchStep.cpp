// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass: the training step once more, with reports of what its kernels leave in memory.
#include "lib/Numerics/Trace/WatchedValues.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Remarks.h"
#include "mpc/Analysis/BatchExtent.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Numerics/Trace/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace mpc {
#define GEN_PASS_DEF_WATCHSTEP
#include "mpc/Numerics/Trace/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {
/// Room behind what an entry has in its arena.
class ArenaEnd {
public:
  explicit ArenaEnd(func::FuncOp entry)
      : entry(entry), fixed(sizeOf(mpcrt::MpcrtDialect::kArenaFixedAttr)),
        perSample(sizeOf(mpcrt::MpcrtDialect::kArenaPerSampleAttr)), fixedBefore(fixed) {}

  int64_t getFixed() const { return fixed; }
  int64_t takeFixed(int64_t bytes) {
    const int64_t offset = llvm::alignTo(fixed, kAlignment);
    fixed = llvm::alignTo(offset + bytes, kAlignment);
    return offset;
  }
  int64_t takePerSample(int64_t bytes) {
    const int64_t offset = perSample;
    perSample += llvm::alignTo(bytes, 8);
    return offset;
  }
  /// Views that grow with the batch lie behind all that do not, and move on.
  void close() {
    entry.walk([&](mpcrt::ViewOp view) {
      if (isOfArena(view) && !view.getUnstored() && rangeOf(view).perSampleEnd != 0)
        view.setFixed(view.getFixed() + static_cast<uint64_t>(fixed - fixedBefore));
    });
    Builder builder(entry.getContext());
    entry->setAttr(mpcrt::MpcrtDialect::kArenaFixedAttr, builder.getI64IntegerAttr(fixed));
    entry->setAttr(mpcrt::MpcrtDialect::kArenaPerSampleAttr, builder.getI64IntegerAttr(perSample));
  }
  bool isOfArena(mpcrt::ViewOp view) {
    return entry.getArgAttr(cast<BlockArgument>(view.getArena()).getArgNumber(),
                            mpcrt::MpcrtDialect::kArenaAttr) != nullptr;
  }

private:
  static constexpr int64_t kAlignment = 64;
  int64_t sizeOf(StringRef name) { return entry->getAttrOfType<IntegerAttr>(name).getInt(); }

  func::FuncOp entry;
  int64_t fixed, perSample;
  const int64_t fixedBefore;
};
} // namespace

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

/// Copies, from the start of the step on, of the weights that it updates.
static llvm::DenseMap<Value, Value> keepWeights(func::FuncOp step, ArrayRef<WatchedValue> updated) {
  ArenaEnd arena(step);
  llvm::DenseMap<Value, Value> kept;
  OpBuilder builder = OpBuilder::atBlockBegin(&step.getBody().front());
  Value memory = *llvm::find_if(step.getArguments(), [&](BlockArgument argument) {
    return step.getArgAttr(argument.getArgNumber(), mpcrt::MpcrtDialect::kArenaAttr) != nullptr;
  });
  for (const WatchedValue &value : updated) {
    Value &copy = kept[value.buffer];
    if (copy)
      continue;
    auto type = cast<MemRefType>(value.buffer.getType());
    const int64_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
    copy = mpcrt::ViewOp::create(builder, step.getLoc(), type, memory, getBatchArgument(step),
                                 static_cast<uint64_t>(arena.takeFixed(bytes)), /*per_sample=*/0);
    memref::CopyOp::create(builder, step.getLoc(), value.buffer, copy);
  }
  arena.close();
  return kept;
}

/// The buffer where `builder` stands: views inside of loops do not reach there.
static Value reach(OpBuilder &builder, Value buffer) {
  auto view = buffer.getDefiningOp<mpcrt::ViewOp>();
  if (!view || view->getBlock() == builder.getBlock())
    return buffer;
  return cast<mpcrt::ViewOp>(builder.clone(*view)).getResult();
}

static void watch(func::FuncOp step) {
  BufferUses uses(step->getParentOfType<ModuleOp>());
  storeConsumed(step);
  WatchedValues watched(step, uses);
  // All of it is found before anything is added.
  SmallVector<std::pair<Operation *, SmallVector<WatchedValue>>> found;
  SmallVector<WatchedValue> updated;
  for (Operation &op : step.getBody().front()) {
    found.emplace_back(&op, watched.of(&op));
    llvm::copy_if(found.back().second, std::back_inserter(updated),
                  [](const WatchedValue &value) { return value.isUpdate; });
  }
  const llvm::DenseMap<Value, Value> kept = keepWeights(step, updated);
  int64_t slot = 0;
  auto report = [&](OpBuilder &builder, Location loc, ArrayRef<WatchedValue> values) {
    for (const WatchedValue &value : values) {
      mpcrt::TraceOp::create(builder, loc, reach(builder, value.buffer), value.before,
                             value.direction, slot++, value.op, value.layer, ArrayRef<int64_t>(),
                             value.isScaled);
      if (Value old = value.isUpdate ? kept.lookup(value.buffer) : Value())
        mpcrt::TraceOp::create(builder, loc, value.buffer, old, value.direction, slot++,
                               "update:" + StringRef(value.op).split(':').second.str(), value.layer,
                               ArrayRef<int64_t>(), /*scaled=*/false, /*change=*/true);
    }
  };
  OpBuilder builder = OpBuilder::atBlockBegin(&step.getBody().front());
  report(builder, step.getLoc(), watched.inputs());
  for (auto &[op, values] : found) {
    builder.setInsertionPointAfter(op);
    report(builder, op->getLoc(), values);
  }
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
