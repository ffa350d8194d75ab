// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Conversion/LinalgToMpcrt/UpdatesOfRanks.h"
#include "lib/Conversion/LinalgToMpcrt/ElementKernel.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mpc/Analysis/BatchExtent.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Analysis/ReshapedBuffer.h"

using namespace mlir;
using namespace mpc;

/// Elements of a static shape; 0 of others.
static int64_t elementsOf(Value buffer) {
  auto count = getElementCount(buffer);
  return count && count->isFixed() ? count->fixed : 0;
}

/// Whether the buffer is all of a variable, or of a temporary.
static bool isWholeBuffer(Value buffer) {
  Value whole = skipBufferReshapes(buffer);
  return isa<BlockArgument>(whole) || whole.getDefiningOp<mpcrt::ViewOp>();
}

SmallVector<OpOperand *> mpc::findTouches(Value buffer) {
  SmallVector<OpOperand *> touches;
  SmallVector<Value> aliases{baseOf(buffer)};
  while (!aliases.empty())
    for (OpOperand &use : aliases.pop_back_val().getUses()) {
      if (isa<ViewLikeOpInterface>(use.getOwner()))
        llvm::append_range(aliases, use.getOwner()->getResults());
      else
        touches.push_back(&use);
    }
  return touches;
}

UpdatesOfRanks::UpdatesOfRanks(ModuleOp module) : module(module), symbols(module), uses(module) {
  for (auto entry : module.getOps<func::FuncOp>())
    for (BlockArgument argument : entry.getArguments())
      if (VariableOp variable = variableOf(argument))
        arguments[variable].push_back(argument);
  for (EntryRole role : {EntryRole::TrainStep, EntryRole::TrainApply})
    if (func::FuncOp entry = findEntry(module, role))
      collect(entry);
  followSlots();
  dropReadWhole();
}

VariableOp UpdatesOfRanks::variableOf(Value buffer) {
  auto argument = dyn_cast<BlockArgument>(baseOf(buffer));
  auto entry = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : nullptr;
  auto symbol = entry ? entry.getArgAttrOfType<FlatSymbolRefAttr>(argument.getArgNumber(),
                                                                  MpcDialect::kVariableAttr)
                      : FlatSymbolRefAttr();
  return symbol ? symbols.lookup<VariableOp>(symbol.getAttr()) : VariableOp();
}

bool UpdatesOfRanks::isWritten(mpcrt::LaunchOp launch, unsigned argument) {
  Value buffer = launch.getArguments()[argument];
  const auto &touched = uses.of(launch);
  return !touched || llvm::any_of(*touched, [&](const BufferUse &use) {
    return use.buffer == buffer && use.isWritten;
  });
}

bool UpdatesOfRanks::isSharded(VariableOp variable) {
  if (auto master = variable.getShadowOf())
    variable = symbols.lookup<VariableOp>(*master);
  return variable && variable.getSharded();
}

/// None for a launch that ranks cannot share, or have no reason to.
std::optional<RankUpdate> UpdatesOfRanks::match(mpcrt::LaunchOp launch) {
  func::FuncOp kernel = uses.kernelOf(launch);
  auto count = evaluateIndex(launch.getCount());
  if (!kernel || !count || !count->isFixed() || count->fixed < kFewestSharedElements)
    return std::nullopt;
  RankUpdate update{launch, count->fixed, {}};
  bool touchesVariable = false;
  for (auto [index, argument] : llvm::enumerate(launch.getArguments())) {
    if (!isa<MemRefType>(argument.getType()))
      continue;
    if (elementsOf(argument) == update.elements && isWholeBuffer(argument) &&
        findElementAccess(kernel.getArgument(index))) {
      update.own.push_back(index);
      VariableOp variable = variableOf(argument);
      touchesVariable |=
          variable && (variable.getRole() == VariableRole::Optimizer || isSharded(variable));
    } else if (isWritten(launch, index)) {
      return std::nullopt;
    }
  }
  return touchesVariable ? std::optional(update) : std::nullopt;
}

void UpdatesOfRanks::collect(func::FuncOp entry) {
  entry.walk([&](mpcrt::LaunchOp launch) {
    Operation *parent = launch->getParentOp();
    if (parent != entry && (!isa<mpcrt::LaunchAllOp>(parent) || parent->getParentOp() != entry))
      return;
    if (auto update = match(launch))
      updates.insert({launch, std::move(*update)});
  });
}

/// A slot is in parts where its variable is: that both are updated together, or one after the other
/// by way of a temporary, says whose it is.
void UpdatesOfRanks::followSlots() {
  llvm::DenseSet<const void *> sharded; // variables and temporaries
  auto keyOf = [&](Value buffer) -> const void * {
    VariableOp variable = variableOf(buffer);
    return variable ? variable.getOperation() : baseOf(buffer).getAsOpaquePointer();
  };
  auto isOfSharded = [&](const RankUpdate &update) {
    return llvm::any_of(update.own, [&](unsigned index) {
      VariableOp variable = variableOf(update.argument(index));
      return (variable && isSharded(variable)) || sharded.contains(keyOf(update.argument(index)));
    });
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto &[op, update] : updates)
      if (isOfSharded(update))
        for (unsigned index : update.own)
          changed |= sharded.insert(keyOf(update.argument(index))).second;
  }
  updates.remove_if([&](auto &entry) { return !isOfSharded(entry.second); });
}

bool UpdatesOfRanks::isOwnUse(Operation *user, Value buffer, int64_t elements) {
  auto found = updates.find(user);
  if (found == updates.end() || found->second.elements != elements)
    return false;
  Value base = baseOf(buffer);
  for (auto [index, argument] : llvm::enumerate(found->second.launch.getArguments()))
    if (isa<MemRefType>(argument.getType()) && baseOf(argument) == base &&
        !llvm::is_contained(found->second.own, index))
      return false;
  return true;
}

/// Whether something behind the launch reads other elements of the temporary than its own.
bool UpdatesOfRanks::isReadWhole(const RankUpdate &update, unsigned argument) {
  Value buffer = update.argument(argument);
  if (!baseOf(buffer).getDefiningOp<mpcrt::ViewOp>())
    return true; // who called the entry does
  auto entry = update.launch->getParentOfType<func::FuncOp>();
  Operation *own = entry.getBody().front().findAncestorOpInBlock(*update.launch);
  return llvm::any_of(findTouches(buffer), [&](OpOperand *touch) {
    Operation *user = entry.getBody().front().findAncestorOpInBlock(*touch->getOwner());
    return (!user || own->isBeforeInBlock(user)) &&
           !isOwnUse(touch->getOwner(), buffer, update.elements);
  });
}

/// Which launches remain: one that makes what is read whole, be it a temporary or what an optimizer
/// keeps, does all of it, and so do those that go with it. One that touches no variable in parts
/// would send more, and save nothing.
void UpdatesOfRanks::dropReadWhole() {
  auto isLost = [&](const RankUpdate &update) {
    const bool savesMemory = llvm::any_of(update.own, [&](unsigned index) {
      VariableOp variable = variableOf(update.argument(index));
      return variable && areOnlyUsersOf(variable);
    });
    return !savesMemory || llvm::any_of(update.own, [&](unsigned index) {
      if (!isWritten(update.launch, index))
        return false;
      VariableOp variable = variableOf(update.argument(index));
      if (!variable)
        return isReadWhole(update, index);
      return variable.getRole() == VariableRole::Optimizer && !areOnlyUsersOf(variable);
    });
  };
  for (bool changed = true; changed;) {
    llvm::DenseSet<Operation *> lost;
    for (auto &[op, update] : updates)
      if (isLost(update))
        lost.insert(op);
    updates.remove_if([&](auto &entry) { return lost.contains(entry.first); });
    changed = !lost.empty();
  }
}

llvm::SetVector<Operation *> UpdatesOfRanks::findWritten() {
  llvm::SetVector<Operation *> written;
  for (auto &[op, update] : updates)
    for (unsigned index : update.own)
      if (VariableOp variable = variableOf(update.argument(index));
          variable && isWritten(update.launch, index))
        written.insert(variable);
  return written;
}

bool UpdatesOfRanks::areOnlyUsersOf(VariableOp variable) {
  if (variable.getRole() != VariableRole::Optimizer &&
      variable.getRole() != VariableRole::Trainable)
    return false;
  return llvm::all_of(arguments.lookup(variable), [&](BlockArgument argument) {
    return llvm::all_of(findTouches(argument), [&](OpOperand *touch) {
      return isOwnUse(touch->getOwner(), argument, elementsOf(argument));
    });
  });
}

/// Whether all that the launch writes is less than the gradient. Of the readers of one that goes
/// element by element those are the tests whether it is finite.
static bool isTest(mpcrt::LaunchOp launch, int64_t elements, UpdatesOfRanks &updates) {
  for (auto [index, argument] : llvm::enumerate(launch.getArguments())) {
    if (!isa<MemRefType>(argument.getType()) || !updates.isWritten(launch, index))
      continue;
    const int64_t written = elementsOf(argument);
    if (written == 0 || written >= elements)
      return false;
  }
  return true;
}

bool UpdatesOfRanks::needsOwnPart(mpcrt::AllReduceOp reduction) {
  Value buffer = reduction.getOut();
  Block *block = reduction->getBlock();
  const int64_t elements = elementsOf(buffer);
  bool isRead = false;
  for (OpOperand *touch : findTouches(buffer)) {
    Operation *user = touch->getOwner(), *step = block->findAncestorOpInBlock(*user);
    if (step && !reduction->isBeforeInBlock(step))
      continue; // what made the gradient
    if (isOwnUse(user, buffer, elements)) {
      isRead = true;
      continue;
    }
    auto launch = dyn_cast<mpcrt::LaunchOp>(user);
    if (!isa<mpcrt::WaitForRanksOp>(user) && !(launch && isTest(launch, elements, *this)))
      return false;
  }
  return isRead;
}
