// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-prepare-weights: what an entry computes of its weights alone is computed when these change,
// into memory that stays between calls.
#include "dialects/mpcrt/IR/Turn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/RegionUtils.h"
#include "mpc/Analysis/BatchExtent.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Buffers/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace mpc {
#define GEN_PASS_DEF_PREPAREWEIGHTS
#include "mpc/Buffers/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// cudaMalloc returns addresses that are multiples of this, and no place of it shares a cache line.
static constexpr int64_t kAlignment = 256;

/// Between other entries' calls weights stay as they are. Those of a caller's own loop follow an
/// update each, so that there would be nothing to gain. On a CPU a step is one of them: what
/// packs its weights is the runtime.
static bool isCalledAgain(func::FuncOp entry, Device device) {
  const std::optional<EntryRole> role = entryRoleOf(entry);
  return role == EntryRole::Predict ||
         (device == Device::cuda && (role == EntryRole::Evaluate || role == EntryRole::TrainStep));
}

namespace {
class Preparation {
public:
  Preparation(func::FuncOp entry, const SymbolTable &symbols) : entry(entry), views(entry) {
    findFrozen(symbols);
    findBuffers();
  }

  void run();

private:
  void findFrozen(const SymbolTable &symbols);
  void findBuffers();
  /// The ops that write the buffer; nothing where one of them is none of those that move.
  std::optional<SmallVector<Operation *>> writersOf(memref::AllocOp alloc) const;
  /// Whether the value is the same in every call as long as the weights are.
  bool isKnown(Value value) const;
  bool isKnown(Operation *writer) const;

  func::FuncOp entry;
  BufferViewFlowAnalysis views;
  DenseSet<Value> frozen; // variables
  llvm::SetVector<Operation *> allocs;
};
} // namespace

static bool isWrite(OpOperand &use) {
  Operation *user = use.getOwner();
  if (auto op = dyn_cast<linalg::LinalgOp>(user))
    return op.isDpsInit(&use);
  if (isMemoryEffectFree(user))
    return false; // a view
  auto interface = dyn_cast<MemoryEffectOpInterface>(user);
  if (!interface)
    return true;
  SmallVector<MemoryEffects::EffectInstance> effects;
  interface.getEffects(effects);
  return llvm::any_of(effects, [&](const auto &effect) {
    return !isa<MemoryEffects::Read, MemoryEffects::Free>(effect.getEffect()) &&
           (!effect.getValue() || effect.getValue() == use.get());
  });
}

void Preparation::findFrozen(const SymbolTable &symbols) {
  for (BlockArgument argument : entry.getArguments()) {
    auto symbol = entry.getArgAttrOfType<FlatSymbolRefAttr>(argument.getArgNumber(),
                                                            MpcDialect::kVariableAttr);
    auto variable = symbol ? symbols.lookup<VariableOp>(symbol.getValue()) : VariableOp();
    if (!variable || !isa<MemRefType>(argument.getType()) ||
        !llvm::is_contained(
            {VariableRole::Trainable, VariableRole::NonTrainable, VariableRole::Shadow},
            variable.getRole()))
      continue;
    const bool isWritten = llvm::any_of(views.resolve(argument), [](Value alias) {
      return llvm::any_of(alias.getUses(), isWrite);
    });
    if (!isWritten)
      frozen.insert(argument);
  }
}

std::optional<SmallVector<Operation *>> Preparation::writersOf(memref::AllocOp alloc) const {
  SmallVector<Operation *> writers;
  for (Value alias : views.resolve(alloc))
    for (OpOperand &use : alias.getUses()) {
      Operation *user = use.getOwner();
      if (!isWrite(use))
        continue;
      if (!isa<linalg::LinalgOp, memref::CopyOp, mpcrt::TurnOp>(user) ||
          !isa<func::FuncOp>(user->getParentOp()))
        return std::nullopt;
      writers.push_back(user);
    }
  return writers;
}

bool Preparation::isKnown(Value value) const {
  if (isa<BlockArgument>(value))
    return frozen.contains(value);
  Operation *producer = value.getDefiningOp();
  if (isa<memref::AllocOp>(producer))
    return allocs.contains(producer);
  return isMemoryEffectFree(producer) && producer->getNumRegions() == 0 &&
         llvm::all_of(producer->getOperands(), [&](Value operand) { return isKnown(operand); });
}

bool Preparation::isKnown(Operation *writer) const {
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(writer->getRegions(), captured);
  auto known = [&](Value value) { return isKnown(value); };
  return llvm::all_of(writer->getOperands(), known) && llvm::all_of(captured, known);
}

void Preparation::findBuffers() {
  for (auto alloc : entry.getBody().front().getOps<memref::AllocOp>())
    if (alloc.getType().hasStaticShape() && alloc.getType().getLayout().isIdentity())
      if (auto writers = writersOf(alloc); writers && !writers->empty())
        allocs.insert(alloc);
  // One that does not stay takes those that are computed of it along.
  auto isLost = [&](Operation *alloc) {
    auto writers = writersOf(cast<memref::AllocOp>(alloc));
    return llvm::any_of(*writers, [&](Operation *writer) { return !isKnown(writer); });
  };
  for (bool changed = true; changed;) {
    SmallVector<Operation *> lost = llvm::filter_to_vector(allocs, isLost);
    for (Operation *alloc : lost)
      allocs.remove(alloc);
    changed = !lost.empty();
  }
}

void Preparation::run() {
  BlockArgument batch = getBatchArgument(entry);
  if (allocs.empty() || !batch)
    return;
  DenseSet<Operation *> writers;
  for (Operation *alloc : allocs) {
    auto own = writersOf(cast<memref::AllocOp>(alloc));
    writers.insert(own->begin(), own->end());
  }
  IRRewriter rewriter(entry.getContext());
  Location loc = entry.getLoc();
  auto type = MemRefType::get({ShapedType::kDynamic}, rewriter.getI8Type());
  const unsigned index = entry.getNumArguments();
  NamedAttribute role =
      rewriter.getNamedAttr(mpcrt::MpcrtDialect::kPreparedAttr, rewriter.getUnitAttr());
  if (failed(entry.insertArgument(index, type, rewriter.getDictionaryAttr(role), loc)))
    return;
  Value memory = entry.getArgument(index);
  Block &body = entry.getBody().front();
  rewriter.setInsertionPointToStart(&body);
  int64_t bytes = 0;
  for (Operation *op : allocs) {
    auto alloc = cast<memref::AllocOp>(op);
    MemRefType bufferType = alloc.getType();
    Value view = mpcrt::ViewOp::create(rewriter, alloc.getLoc(), bufferType, memory, batch,
                                       static_cast<uint64_t>(bytes), uint64_t{0}, uint64_t{1});
    bytes += llvm::alignTo(bufferType.getNumElements() *
                               llvm::divideCeil(bufferType.getElementTypeBitWidth(), 8),
                           kAlignment);
    for (Operation *user : llvm::make_early_inc_range(alloc->getUsers()))
      if (isa<memref::DeallocOp>(user))
        user->erase();
    alloc.replaceAllUsesWith(view);
  }
  auto prepare = mpcrt::PrepareOp::create(rewriter, loc, memory, bytes);
  for (Operation *alloc : allocs) // now, because views were made in front of one
    alloc->erase();
  Block &inside = prepare.getBody().emplaceBlock();
  SmallVector<Operation *> ordered;
  for (Operation &op : body)
    if (writers.contains(&op))
      ordered.push_back(&op);
  for (Operation *writer : ordered) {
    llvm::SetVector<Value> needed(writer->operand_begin(), writer->operand_end());
    getUsedValuesDefinedAbove(writer->getRegions(), needed);
    // They are free of effects: this cannot fail.
    (void)moveValueDefinitions(rewriter, needed.getArrayRef(), prepare);
    writer->moveBefore(&inside, inside.end());
  }
  remark::passed(loc, remark::RemarkOpts::name("prepare-weights").category("mpc-memory"))
      << "@" << entry.getSymName().str() << " keeps " << remark::metric("bytes", bytes)
      << " bytes that it computes of weights alone";
}

namespace {
struct PrepareWeightsPass : mpc::impl::PrepareWeightsBase<PrepareWeightsPass> {
  using PrepareWeightsBase::PrepareWeightsBase;

  void runOnModule() override {
    SymbolTable symbols(getOperation());
    for (auto entry : getOperation().getOps<func::FuncOp>())
      if (isEntry(entry) && isCalledAgain(entry, device))
        Preparation(entry, symbols).run();
  }
};
} // namespace
