// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranges are linear in the batch: one lies before another for every batch when it does for none and
// for each further sample.
#include "lib/Conversion/LinalgToMpcrt/BufferUses.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mpc;

ByteRange mpc::rangeOf(mpcrt::ViewOp view) {
  auto type = cast<MemRefType>(view.getResult().getType());
  int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  for (int64_t extent : type.getShape())
    bytes *= ShapedType::isDynamic(extent) ? static_cast<int64_t>(view.getExtent()) : extent;
  auto fixed = static_cast<int64_t>(view.getFixed());
  auto perSample = static_cast<int64_t>(view.getPerSample());
  return type.hasStaticShape() ? ByteRange{fixed, perSample, fixed + bytes, perSample}
                               : ByteRange{fixed, perSample, fixed, perSample + bytes};
}

Value mpc::baseOf(Value buffer) { return memref::skipViewLikeOps(cast<MemrefValue>(buffer)); }

BufferUse::BufferUse(Value buffer, bool isWritten)
    : buffer(buffer), base(baseOf(buffer)), isWritten(isWritten) {}

/// mayOverlap of buffers that are no views of others.
static bool mayBasesOverlap(Value a, Value b) {
  if (a == b)
    return true;
  auto viewA = a.getDefiningOp<mpcrt::ViewOp>(), viewB = b.getDefiningOp<mpcrt::ViewOp>();
  if ((viewA && viewA.getUnstored()) || (viewB && viewB.getUnstored()))
    return false;
  if (viewA && viewB && viewA.getArena() != viewB.getArena())
    return false;
  if (viewA && viewB) {
    ByteRange first = rangeOf(viewA), second = rangeOf(viewB);
    return !first.isBefore(second) && !second.isBefore(first);
  }
  auto globalA = a.getDefiningOp<memref::GetGlobalOp>(),
       globalB = b.getDefiningOp<memref::GetGlobalOp>();
  if (globalA && globalB)
    return globalA.getName() == globalB.getName();
  // Inputs, outputs, variables, the arena, arrays of the stack and constants have memory of their
  // own.
  auto isOwn = [](Value value) {
    return isa<BlockArgument>(value) || value.getDefiningOp<memref::AllocaOp>() ||
           value.getDefiningOp<memref::GetGlobalOp>();
  };
  return !(viewA || isOwn(a)) || !(viewB || isOwn(b));
}

bool mpc::mayOverlap(Value a, Value b) { return mayBasesOverlap(baseOf(a), baseOf(b)); }

/// Whether a kernel stores through this argument.
static bool isStoredTo(Value buffer) {
  for (Operation *user : buffer.getUsers()) {
    if (isa<memref::LoadOp>(user))
      continue;
    if (auto view = dyn_cast<ViewLikeOpInterface>(user)) {
      for (Value result : user->getResults())
        if (isStoredTo(result))
          return true;
      continue;
    }
    return true;
  }
  return false;
}

const SmallVector<BufferUses::Argument> &BufferUses::argumentsOf(func::FuncOp kernel) {
  auto [known, isNew] = kernels.try_emplace(kernel);
  if (isNew)
    for (BlockArgument argument : kernel.getArguments())
      if (isa<MemRefType>(argument.getType()) && !argument.use_empty())
        known->second.push_back({argument.getArgNumber(), isStoredTo(argument)});
  return known->second;
}

const std::optional<SmallVector<BufferUse>> &BufferUses::of(Operation *op) {
  auto found = known.find(op);
  if (found == known.end())
    found = known.try_emplace(op, std::make_unique<std::optional<SmallVector<BufferUse>>>(find(op)))
                .first;
  return *found->second;
}

std::optional<SmallVector<BufferUse>> BufferUses::find(Operation *op) {
  SmallVector<BufferUse> uses;
  if (auto launch = dyn_cast<mpcrt::LaunchOp>(op)) {
    func::FuncOp kernel = kernelOf(launch);
    if (!kernel)
      return std::nullopt;
    for (auto [index, isWritten] : argumentsOf(kernel))
      uses.emplace_back(launch.getArguments()[index], isWritten);
    return uses;
  }
  if (isMemoryEffectFree(op))
    return uses;
  // Loops and conditions of the host.
  if (op->hasTrait<OpTrait::HasRecursiveMemoryEffects>()) {
    for (Region &region : op->getRegions())
      for (Operation &inner : region.getOps()) {
        auto more = find(&inner);
        if (!more)
          return std::nullopt;
        uses.append(*more);
      }
    return uses;
  }
  auto interface = dyn_cast<MemoryEffectOpInterface>(op);
  if (!interface)
    return std::nullopt;
  SmallVector<MemoryEffects::EffectInstance> effects;
  interface.getEffects(effects);
  for (const auto &effect : effects) {
    if (!effect.getValue())
      return std::nullopt;
    uses.emplace_back(effect.getValue(), !isa<MemoryEffects::Read>(effect.getEffect()));
  }
  return uses;
}

bool BufferUses::dependOnEachOther(Operation *a, Operation *b) {
  const auto &first = of(a), &second = of(b);
  if (!first || !second)
    return true;
  return llvm::any_of(*first, [&](const BufferUse &x) {
    return llvm::any_of(*second, [&](const BufferUse &y) {
      return (x.isWritten || y.isWritten) && mayBasesOverlap(x.base, y.base);
    });
  });
}

void BufferUses::erase(mpcrt::LaunchOp launch) {
  replaced.insert(kernelOf(launch));
  forget(launch);
  launch.erase();
}

void BufferUses::eraseUnused(ArrayRef<Operation *> unneeded) {
  llvm::DenseSet<StringAttr> used;
  symbols.getOp()->walk(
      [&](mpcrt::LaunchOp launch) { used.insert(launch.getKernelAttr().getAttr()); });
  for (Operation *kernel : unneeded)
    if (!used.contains(cast<func::FuncOp>(kernel).getSymNameAttr())) {
      kernels.erase(kernel);
      symbols.erase(kernel);
    }
}
