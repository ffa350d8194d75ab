// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RhsVariables.h"
#include "mpc/Analysis/ReshapedBuffer.h"

using namespace mlir;
using namespace mpc;

RhsVariables::RhsVariables(func::FuncOp entry, const TablePositions &tables)
    : entry(entry), tables(tables), views(entry) {
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

/// Whether something before `op` in the entry may write the variable: then a packed copy that the
/// runtime keeps would be stale.
bool RhsVariables::isWrittenBefore(BlockArgument variable, Operation *op) {
  auto module = entry->getParentOfType<ModuleOp>();
  for (Value alias : views.resolve(variable))
    for (OpOperand &use : alias.getUses()) {
      Operation *user = use.getOwner();
      Operation *top = entry.getBody().front().findAncestorOpInBlock(*user);
      Operation *reader = entry.getBody().front().findAncestorOpInBlock(*op);
      if (!top || !(top == reader ? top != op : top->isBeforeInBlock(reader)))
        continue;
      if (auto launch = dyn_cast<mpcrt::LaunchOp>(user)) {
        auto kernel = module.lookupSymbol<func::FuncOp>(launch.getKernel());
        // Operand 0 is the count.
        Value inside = kernel.getArgument(use.getOperandNumber() - 1);
        BufferViewFlowAnalysis kernelViews(kernel);
        for (Value insideAlias : kernelViews.resolve(inside))
          for (Operation *access : insideAlias.getUsers())
            if (isa<memref::StoreOp>(access))
              return true;
      } else if (auto effects = dyn_cast<MemoryEffectOpInterface>(user)) {
        SmallVector<MemoryEffects::EffectInstance> instances;
        effects.getEffectsOnValue(alias, instances);
        if (llvm::any_of(instances,
                         [](auto &e) { return isa<MemoryEffects::Write>(e.getEffect()); }))
          return true;
      }
    }
  return false;
}

/// The variable that `buffer` is, as `reader` finds it at the start of the run; else -1.
int32_t RhsVariables::variableOf(Value buffer, Operation *reader) {
  auto argument = dyn_cast<BlockArgument>(skipBufferReshapes(buffer));
  if (!argument || argument.getOwner() != &entry.getBody().front())
    return -1;
  Attribute symbol = entry.getArgAttr(argument.getArgNumber(), MpcDialect::kVariableAttr);
  if (!symbol || isWrittenBefore(argument, reader))
    return -1;
  return tables.variables.lookup(symbol);
}
