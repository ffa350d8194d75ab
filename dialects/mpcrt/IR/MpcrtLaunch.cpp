// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpcrt.launch, mpcrt.launch_all, mpcrt.prepare and mpcrt.view: verifiers.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpc::mpcrt;

LogicalResult LaunchOp::verify() {
  if (getGrain() < 1)
    return emitOpError() << "grain must be at least 1, but is " << getGrain();
  return success();
}

void LaunchOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  for (OpOperand &argument : getArgumentsMutable())
    if (isa<BaseMemRefType>(argument.get().getType())) {
      effects.emplace_back(MemoryEffects::Read::get(), &argument,
                           SideEffects::DefaultResource::get());
      effects.emplace_back(MemoryEffects::Write::get(), &argument,
                           SideEffects::DefaultResource::get());
    }
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, getKernelAttr());
  if (!kernel || !kernel->hasAttr(MpcrtDialect::kKernelAttr))
    return emitOpError() << getKernelAttr() << " is not a function with "
                         << MpcrtDialect::kKernelAttr;
  auto types = kernel.getArgumentTypes();
  if (types.size() != getArguments().size() + 2)
    return emitOpError() << "passes " << getArguments().size() << " arguments, but "
                         << getKernelAttr() << " takes " << types.size() - 2 << " and the bounds";
  for (auto [index, argument] : llvm::enumerate(getArguments()))
    if (argument.getType() != types[index])
      return emitOpError() << "argument " << index << " has type " << argument.getType() << ", but "
                           << getKernelAttr() << " takes " << types[index];
  return success();
}

LogicalResult PrepareOp::verify() {
  auto entry = (*this)->getParentOfType<FunctionOpInterface>();
  auto memory = dyn_cast<BlockArgument>(getMemory());
  if (!entry || (*this)->getParentOp() != entry || !memory ||
      !entry.getArgAttr(memory.getArgNumber(), MpcrtDialect::kPreparedAttr))
    return emitOpError() << "stands in an entry, whose argument " << MpcrtDialect::kPreparedAttr
                         << " is its memory";
  if (static_cast<int64_t>(getBytes()) < 1)
    return emitOpError() << "needs at least a byte, but has " << static_cast<int64_t>(getBytes());
  for (Operation *user : memory.getUsers()) {
    auto view = dyn_cast<ViewOp>(user);
    auto type = view ? cast<MemRefType>(view.getType()) : MemRefType();
    auto endsOutside = [&] {
      int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8), end;
      for (int64_t extent : type.getShape())
        if (llvm::MulOverflow(bytes, extent, bytes))
          return true;
      return llvm::AddOverflow(int64_t(view.getFixed()), bytes, end) || end > int64_t(getBytes());
    };
    if (view && (!type.hasStaticShape() || view.getPerSample() != 0 || endsOutside()))
      return emitOpError() << "has a view " << type << " outside of its " << getBytes() << " bytes";
  }
  for (Operation *other = (*this)->getNextNode(); other; other = other->getNextNode())
    if (isa<PrepareOp>(other))
      return emitOpError("is not the only one of its entry");
  return success();
}

LogicalResult LaunchAllOp::verify() {
  Block &block = getBody().front();
  if (block.empty() || llvm::hasSingleElement(block) ||
      !llvm::all_of(block, [](Operation &op) { return isa<LaunchOp>(op); }))
    return emitOpError("holds two or more of mpcrt.launch, and nothing else");
  return success();
}

LogicalResult ViewOp::verify() {
  auto type = cast<MemRefType>(getResult().getType());
  if (!type.getLayout().isIdentity())
    return emitOpError() << "result must be dense and row-major, but is " << type;
  for (int64_t dim = 1; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      return emitOpError() << "only the leading dimension may be dynamic, but the result is "
                           << type;
  if (static_cast<int64_t>(getFixed()) < 0 || static_cast<int64_t>(getPerSample()) < 0)
    return emitOpError("offsets must not be negative");
  if (static_cast<int64_t>(getExtent()) < 1)
    return emitOpError("extent must be at least 1");
  return success();
}
