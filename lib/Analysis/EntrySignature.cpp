// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mpc/Analysis/EntrySignature.h"
#include "dialects/mpc/IR/Forms.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpc;
using mpcrt::MpcrtDialect;

/// Whether a view of the arena ends inside of it, for every batch: fixed ones in the fixed part,
/// those that grow with the batch behind that, in the part of each sample.
static bool isInside(mpcrt::ViewOp view, int64_t arenaFixed, int64_t arenaPerSample) {
  auto type = cast<MemRefType>(view.getResult().getType());
  int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8), end;
  for (int64_t extent : type.getShape())
    if (llvm::MulOverflow(bytes, ShapedType::isDynamic(extent) ? int64_t(view.getExtent()) : extent,
                          bytes))
      return false;
  const auto fixed = int64_t(view.getFixed()), perSample = int64_t(view.getPerSample());
  if (type.hasStaticShape() && perSample == 0)
    return !llvm::AddOverflow(fixed, bytes, end) && end <= arenaFixed;
  return fixed >= arenaFixed && !llvm::AddOverflow(perSample, bytes, end) &&
         (type.hasStaticShape() || end <= arenaPerSample);
}

static LogicalResult verifyViews(func::FuncOp entry) {
  const int64_t fixed = entry->getAttrOfType<IntegerAttr>(MpcrtDialect::kArenaFixedAttr).getInt();
  const int64_t perSample =
      entry->getAttrOfType<IntegerAttr>(MpcrtDialect::kArenaPerSampleAttr).getInt();
  WalkResult result = entry.walk([&](mpcrt::ViewOp view) -> WalkResult {
    auto arena = dyn_cast<BlockArgument>(view.getArena());
    if (!arena || arena.getOwner() != &entry.getBody().front())
      return view.emitOpError("is of no argument of the entry");
    if (view.getUnstored() || !entry.getArgAttr(arena.getArgNumber(), MpcrtDialect::kArenaAttr) ||
        isInside(view, fixed, perSample))
      return WalkResult::advance();
    return view.emitOpError() << "is outside of the arena of " << fixed << " bytes and "
                              << perSample << " more per sample";
  });
  return failure(result.wasInterrupted());
}

/// The extent of a bounded output is another output.
static LogicalResult verifyExtents(func::FuncOp entry) {
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    auto bounded = findForm<BoundedAttr>(entry.getArgAttr(i, MpcDialect::kFormAttr));
    if (!bounded)
      continue;
    const bool hasExtent = llvm::any_of(entry.getArguments(), [&](BlockArgument argument) {
      const unsigned other = argument.getArgNumber();
      return other != i && isExtentType(argument.getType()) &&
             entry.getArgAttr(other, MpcrtDialect::kOutputAttr) == Attribute(bounded.getExtent());
    });
    if (!hasExtent || !entry.getArgAttr(i, MpcrtDialect::kOutputAttr))
      return entry.emitOpError() << "argument " << i << " is bounded by " << bounded.getExtent()
                                 << "; expected an output, whose extent is another output";
  }
  return success();
}

LogicalResult mpc::verifyEntrySignature(func::FuncOp entry) {
  auto fail = [&]() -> InFlightDiagnostic {
    return entry.emitOpError() << "@" << entry.getSymName() << " is an entry (mpc.entry) ";
  };
  if (entry.isExternal() || !llvm::hasSingleElement(entry.getBody()))
    return fail() << "and must have a body of one block";
  if (entry.getNumResults() != 0)
    return fail() << "and must have no results after the phase buffers";
  for (StringRef size : {MpcrtDialect::kArenaFixedAttr, MpcrtDialect::kArenaPerSampleAttr})
    if (!entry->getAttrOfType<IntegerAttr>(size))
      return fail() << "and does not say how large its arena is; expected the integer " << size;
  unsigned batches = 0, arenas = 0;
  for (auto [index, type] : llvm::enumerate(entry.getArgumentTypes())) {
    auto has = [&, i = index](StringRef name) { return entry.getArgAttr(i, name) != nullptr; };
    bool isBatch = has(MpcrtDialect::kBatchAttr);
    unsigned roles = has(MpcDialect::kInputAttr) + has(MpcDialect::kTargetAttr) +
                     has(MpcDialect::kVariableAttr) + has(MpcrtDialect::kOutputAttr) + isBatch +
                     has(MpcrtDialect::kArenaAttr) + has(MpcrtDialect::kPreparedAttr);
    batches += isBatch;
    arenas += has(MpcrtDialect::kArenaAttr);
    if (roles != 1)
      return fail() << "and its argument " << index
                    << " must be one of input, target, variable, output, batch, arena and "
                       "prepared, but is "
                    << roles << " of them";
    auto memref = dyn_cast<MemRefType>(type);
    if (isBatch ? !type.isIndex() : !memref)
      return fail() << "and its argument " << index << " must be "
                    << (isBatch ? "an index" : "a buffer") << ", but is " << type;
    if (memref && !memref.getLayout().isIdentity())
      return fail() << "and its argument " << index << " must be dense";
  }
  if (batches != 1 || arenas != 1)
    return fail() << "and must have one argument mpcrt.batch and one mpcrt.arena";
  if (failed(verifyExtents(entry)))
    return failure();
  return verifyViews(entry);
}
