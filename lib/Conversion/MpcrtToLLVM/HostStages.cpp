// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A long entry becomes a sequence of functions. LLVM takes more than linear time for a function,
// and all the more where each address that is computed in front lives until a call far behind it. A
// stage computes the addresses that it needs from the call's fields.
#include "lib/Conversion/MpcrtToLLVM/HostFunction.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mpc;

/// Fewer ops are not worth a function of their own; with ten times as many, register allocation
/// takes most of the time.
static constexpr size_t kOpsPerStage = 800;

namespace {
/// Divides the block of an entry's function into stages.
class StageCutter {
public:
  StageCutter(Value call, Value status, ArrayRef<Operation *> markers)
      : block(call.getParentBlock()), call(call), status(status),
        markers(markers.begin(), markers.end()) {}

  /// Returns the operations of each stage, in order.
  SmallVector<SmallVector<Operation *>> divide();
  bool isMarker(Operation *step) const { return markers.contains(step); }
  /// Moves the steps into `function`, which has the call as its argument and returns a status.
  /// Returns where that status is kept.
  Value move(ArrayRef<Operation *> steps, LLVM::LLVMFuncOp function);

private:
  static bool isStackMemory(Operation *op) { return isa<LLVM::AllocaOp, memref::AllocaOp>(op); }
  /// Whether a stage may compute the value itself: it is made of the call's fields.
  bool isRecomputable(Value value);
  /// Whether the op stays in the entry, or has a copy in each stage that needs it.
  bool isNoStep(Operation *op) {
    return isStackMemory(op) ||
           (op->getNumResults() == 1 && !markers.contains(op) && isRecomputable(op->getResult(0)));
  }
  /// The value for a stage, in which it is computed by copies.
  Value copy(OpBuilder &builder, Value value, IRMapping &copies);

  Block *block;
  Value call, status;
  DenseSet<Operation *> markers;
  DenseMap<Operation *, bool> recomputable;
};
} // namespace

bool StageCutter::isRecomputable(Value value) {
  Operation *producer = value.getDefiningOp();
  if (!producer)
    return value == call;
  if (auto known = recomputable.find(producer); known != recomputable.end())
    return known->second;
  // Nothing changes the call's fields and tables while it runs. Elements of buffers are loaded by
  // other ops here.
  const bool isPlain = producer->getBlock() == block && producer->getNumRegions() == 0 &&
                       producer->getNumResults() == 1 &&
                       (isMemoryEffectFree(producer) || isa<LLVM::LoadOp>(producer));
  const bool result = isPlain && llvm::all_of(producer->getOperands(), [&](Value operand) {
                        return isRecomputable(operand);
                      });
  return recomputable[producer] = result;
}

SmallVector<SmallVector<Operation *>> StageCutter::divide() {
  DenseMap<Operation *, size_t> positions;
  for (auto [position, op] : llvm::enumerate(*block))
    positions[&op] = position;
  DenseMap<Operation *, size_t> lastUses; // memory of the stack is asked for by each of its users
  auto lastUse = [&](Operation *op) {
    auto [known, isNew] = lastUses.try_emplace(op, 0);
    if (isNew)
      for (Operation *user : op->getUsers())
        known->second =
            std::max(known->second, positions.lookup(block->findAncestorOpInBlock(*user)));
    return known->second;
  };
  SmallVector<SmallVector<Operation *>> stages(1);
  size_t ops = 0, openUntil = 0;
  for (auto [position, step] : llvm::enumerate(block->without_terminator())) {
    if (isNoStep(&step))
      continue;
    stages.back().push_back(&step);
    step.walk([&](Operation *inner) {
      ++ops;
      // Two steps stay together if the later one reads a register or the stack of the earlier one.
      for (Value operand : inner->getOperands())
        if (Operation *memory = operand.getDefiningOp();
            memory && memory->getBlock() == block && isStackMemory(memory) && operand != status)
          openUntil = std::max(openUntil, lastUse(memory));
    });
    openUntil = std::max(openUntil, lastUse(&step));
    if (ops < kOpsPerStage || openUntil > position)
      continue;
    stages.emplace_back();
    ops = 0;
  }
  if (stages.back().empty())
    stages.pop_back();
  return stages;
}

Value StageCutter::copy(OpBuilder &builder, Value value, IRMapping &copies) {
  if (Value known = copies.lookupOrNull(value))
    return known;
  Operation *producer = value.getDefiningOp();
  if (!isStackMemory(producer)) {
    for (Value operand : producer->getOperands())
      copy(builder, operand, copies);
    return builder.clone(*producer, copies)->getResult(0);
  }
  // A step that is behind a branch must not grow the stack, either.
  OpBuilder front = OpBuilder::atBlockBegin(builder.getInsertionBlock());
  for (Value operand : producer->getOperands())
    copies.map(operand, front.clone(*operand.getDefiningOp())->getResult(0));
  return front.clone(*producer, copies)->getResult(0);
}

Value StageCutter::move(ArrayRef<Operation *> steps, LLVM::LLVMFuncOp function) {
  OpBuilder builder(function.getContext());
  Block *body = function.addEntryBlock(builder);
  Emitter emit{OpBuilder::atBlockEnd(body), function.getLoc()};
  IRMapping copies;
  copies.map(call, body->getArgument(0));
  Value own = copy(emit.builder, status, copies);
  LLVM::StoreOp::create(emit.builder, emit.loc, emit.i32(0), own);
  for (Operation *step : steps) {
    step->walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        if (operand.get().getParentBlock() == block)
          operand.set(copy(emit.builder, operand.get(), copies));
    });
    step->moveBefore(body, body->end());
  }
  LLVM::ReturnOp::create(
      emit.builder, emit.loc,
      LLVM::LoadOp::create(emit.builder, emit.loc, emit.builder.getI32Type(), own).getResult());
  return own;
}

bool HostFunction::cutIntoStages(ArrayRef<Operation *> markers) {
  const Value status = runtime.getStatus();
  StageCutter cutter(call, status, markers);
  auto stages = cutter.divide();
  if (stages.size() < 2)
    return false;
  Location loc = function.getLoc();
  Emitter emit{OpBuilder(prologue->getTerminator()), loc};
  LLVM::StoreOp::create(emit.builder, loc, emit.i32(0), status);
  SmallVector<Operation *> calls;
  for (auto [number, steps] : llvm::enumerate(stages)) {
    OpBuilder before(function);
    auto stage = LLVM::LLVMFuncOp::create(
        before, loc, (function.getSymName() + "_stage_" + llvm::Twine(number)).str(),
        LLVM::LLVMFunctionType::get(before.getI32Type(), emit.pointer()));
    stage.setLinkage(LLVM::Linkage::Internal);
    // There is one call of it, for which LLVM would put it back.
    stage.setNoInline(true);
    SmallVector<Operation *> own =
        llvm::filter_to_vector(steps, [&](Operation *step) { return cutter.isMarker(step); });
    Value ownStatus = cutter.move(steps, stage);
    returnFailures(stage, ownStatus, own);
    auto code = LLVM::CallOp::create(emit.builder, loc, stage, call);
    LLVM::StoreOp::create(emit.builder, loc, code.getResult(), status);
    calls.push_back(emit.i32(0).getDefiningOp());
  }
  returnFailures(function, status, calls);
  eraseUnused(*prologue);
  return true;
}
