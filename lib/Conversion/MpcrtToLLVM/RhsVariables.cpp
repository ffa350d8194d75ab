// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Conversion/MpcrtToLLVM/RhsVariables.h"
#include "mpc/Analysis/ReshapedBuffer.h"

using namespace mlir;
using namespace mpc;

RhsVariables::RhsVariables(func::FuncOp entry, TablePositions &tables)
    : entry(entry), tables(tables), symbols(entry->getParentOfType<ModuleOp>()), views(entry) {
  entry.walk([&](mpcrt::LibraryCallOpInterface call) {
    positions[call] = variableOf(call.getRhs(), call);
  });
}

int32_t RhsVariables::lookup(Operation *call) const { return positions.at(call); }

bool RhsVariables::areOnlyUsesOf(BlockArgument variable) const {
  SmallVector<Value> pending{variable};
  while (!pending.empty()) {
    Value buffer = pending.pop_back_val();
    for (OpOperand &use : buffer.getUses()) {
      Operation *user = use.getOwner();
      if (isBufferReshape(user)) {
        pending.push_back(user->getResult(0));
        continue;
      }
      auto contract = dyn_cast<mpcrt::ContractOp>(user);
      if (!contract || &use != &contract.getRhsMutable() || lookup(user) < 0)
        return false;
    }
  }
  return true;
}

/// Whether the kernel stores through the argument.
bool RhsVariables::isStoredTo(func::FuncOp kernel, unsigned index) {
  auto [known, isNew] = stored.try_emplace(kernel);
  if (isNew) {
    known->second.resize(kernel.getNumArguments());
    BufferViewFlowAnalysis kernelViews(kernel);
    for (BlockArgument argument : kernel.getArguments())
      for (Value alias : kernelViews.resolve(argument))
        if (llvm::any_of(alias.getUsers(), llvm::IsaPred<memref::StoreOp>))
          known->second.set(argument.getArgNumber());
  }
  return known->second.test(index);
}

/// Whether the op that owns the use of a buffer may write it.
bool RhsVariables::mayWrite(OpOperand &use) {
  Operation *user = use.getOwner();
  // Operand 0 is the count.
  if (auto launch = dyn_cast<mpcrt::LaunchOp>(user))
    return isStoredTo(symbols.lookup<func::FuncOp>(launch.getKernelAttr().getAttr()),
                      use.getOperandNumber() - 1);
  auto effects = dyn_cast<MemoryEffectOpInterface>(user);
  if (!effects)
    return false;
  SmallVector<MemoryEffects::EffectInstance> instances;
  effects.getEffectsOnValue(use.get(), instances);
  return llvm::any_of(instances, [](auto &e) { return isa<MemoryEffects::Write>(e.getEffect()); });
}

/// The ops of the entry's block that may write the variable, or in which something may.
ArrayRef<Operation *> RhsVariables::writersOf(BlockArgument variable) {
  auto [known, isNew] = writers.try_emplace(variable);
  if (isNew)
    for (Value alias : views.resolve(variable))
      for (OpOperand &use : alias.getUses())
        if (Operation *top = entry.getBody().front().findAncestorOpInBlock(*use.getOwner());
            top && mayWrite(use))
          known->second.push_back(top);
  return known->second;
}

/// Whether something before `op` in the entry may write the variable: then a packed copy that the
/// runtime keeps would be stale.
bool RhsVariables::isWrittenBefore(BlockArgument variable, Operation *op) {
  Operation *reader = entry.getBody().front().findAncestorOpInBlock(*op);
  return llvm::any_of(writersOf(variable), [&](Operation *writer) {
    return writer == reader ? writer != op : writer->isBeforeInBlock(reader);
  });
}

/// A number behind those of variables.
int32_t RhsVariables::takeNumber() { return int32_t(tables.variables.size()) + tables.prepared++; }

int32_t RhsVariables::preparedOf(mpcrt::ViewOp view) {
  auto [place, isNew] = preparedPlaces.try_emplace(view.getFixed(), 0);
  if (isNew)
    place->second = takeNumber();
  return place->second;
}

int32_t RhsVariables::numberOf(memref::GetGlobalOp constant) {
  auto [place, isNew] = constants.try_emplace(constant.getNameAttr().getAttr(), 0);
  if (isNew)
    place->second = takeNumber();
  return place->second;
}

/// The variable that `buffer` is, as `reader` finds it at the start of the run, or the number of
/// what stays as it is; else -1.
int32_t RhsVariables::variableOf(Value buffer, Operation *reader) {
  const Value whole = skipBufferReshapes(buffer);
  if (auto view = whole.getDefiningOp<mpcrt::ViewOp>())
    if (auto memory = dyn_cast<BlockArgument>(view.getArena());
        memory && memory.getOwner() == &entry.getBody().front() &&
        entry.getArgAttr(memory.getArgNumber(), mpcrt::MpcrtDialect::kPreparedAttr) &&
        reader->getParentOfType<mpcrt::PrepareOp>() == nullptr)
      return preparedOf(view);
  // A watched run looks at floating operands that have no number.
  if (auto constant = whole.getDefiningOp<memref::GetGlobalOp>())
    return isa<IntegerType>(constant.getType().getElementType()) ? numberOf(constant) : -1;
  auto argument = dyn_cast<BlockArgument>(whole);
  if (!argument || argument.getOwner() != &entry.getBody().front())
    return -1;
  Attribute symbol = entry.getArgAttr(argument.getArgNumber(), MpcDialect::kVariableAttr);
  if (!symbol || isWrittenBefore(argument, reader))
    return -1;
  return tables.variables.lookup(symbol);
}
