// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops whose elements follow each other become one, for which no index is a quotient.
#include "lib/Conversion/LinalgToMpcrt/CollapseLoops.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mpc;

/// Whether the loops of each group are one loop: they follow each other in all that they run over.
static bool areCollapsible(linalg::GenericOp op, ArrayRef<ReassociationIndices> groups) {
  return !op.hasIndexSemantics() &&
         llvm::all_of(op.getIndexingMapsArray(),
                      [](AffineMap map) { return map.isProjectedPermutation(); }) &&
         linalg::areDimSequencesPreserved(op.getIndexingMapsArray(), groups) &&
         llvm::all_of(op.getOperandTypes(), [](Type type) {
           auto buffer = dyn_cast<MemRefType>(type);
           return !buffer || buffer.getLayout().isIdentity();
         });
}

/// The op with one loop for each group; the op itself where there is no such one.
static linalg::GenericOp collapse(linalg::GenericOp op, ArrayRef<ReassociationIndices> groups) {
  IRRewriter rewriter(op.getContext());
  rewriter.setInsertionPoint(op);
  auto collapsed = linalg::collapseOpIterationDims(op, groups, rewriter);
  if (failed(collapsed))
    return op;
  rewriter.eraseOp(op);
  return cast<linalg::GenericOp>(collapsed->collapsedOp);
}

/// Whether the loop has a single iteration.
static bool isUnit(linalg::GenericOp op, unsigned loop) {
  return llvm::any_of(op->getOpOperands(), [&](OpOperand &operand) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    std::optional<unsigned> dim;
    if (type)
      dim = op.getMatchingIndexingMap(&operand).getResultPosition(
          getAffineDimExpr(loop, op.getContext()));
    return dim && type.getDimSize(*dim) == 1;
  });
}

/// Loops as they are numbered once those of one iteration are gone, which are 0.
static SmallVector<AffineExpr> renumberLoops(linalg::GenericOp op,
                                             SmallVectorImpl<utils::IteratorType> &kept) {
  SmallVector<AffineExpr> loops;
  // Sums keep their loops, from which the order of what is added follows.
  const bool mayDrop = op.getNumReductionLoops() == 0 && !op.hasIndexSemantics();
  for (auto [loop, type] : llvm::enumerate(op.getIteratorTypesArray())) {
    if (mayDrop && isUnit(op, loop)) {
      loops.push_back(getAffineConstantExpr(0, op.getContext()));
      continue;
    }
    loops.push_back(getAffineDimExpr(kept.size(), op.getContext()));
    kept.push_back(type);
  }
  return loops;
}

/// The buffer without dimensions of extent 1 of which only the index 0 is used; `map` follows.
static Value dropUnitDims(OpBuilder &builder, Location loc, Value buffer, AffineMap &map) {
  auto type = dyn_cast<MemRefType>(buffer.getType());
  if (!type || !type.getLayout().isIdentity())
    return buffer;
  SmallVector<AffineExpr> kept;
  SmallVector<ReassociationIndices> groups;
  ReassociationIndices leading;
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    const bool isDropped = type.getDimSize(dim) == 1 && isa<AffineConstantExpr>(expr);
    if (!isDropped) {
      kept.push_back(expr);
      groups.push_back(std::exchange(leading, {}));
    }
    (groups.empty() ? leading : groups.back()).push_back(dim);
  }
  if (int64_t(kept.size()) == type.getRank())
    return buffer;
  map = AffineMap::get(map.getNumDims(), 0, kept, builder.getContext());
  return memref::CollapseShapeOp::create(builder, loc, buffer, groups);
}

linalg::GenericOp mpc::dropUnitLoops(linalg::GenericOp op) {
  OpBuilder builder(op);
  SmallVector<utils::IteratorType> iterators;
  const SmallVector<AffineExpr> loops = renumberLoops(op, iterators);
  if (iterators.empty())
    return op; // a launch counts something
  SmallVector<AffineMap> maps;
  SmallVector<Value> buffers;
  bool changes = iterators.size() < loops.size();
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map =
        op.getMatchingIndexingMap(&operand).replaceDimsAndSymbols(loops, {}, iterators.size(), 0);
    buffers.push_back(dropUnitDims(builder, op.getLoc(), operand.get(), map));
    maps.push_back(map);
    changes |= buffers.back() != operand.get();
  }
  if (!changes)
    return op;
  auto inputs = ArrayRef(buffers).take_front(op.getNumDpsInputs());
  auto result =
      linalg::GenericOp::create(builder, op.getLoc(), TypeRange(), inputs,
                                ArrayRef(buffers).drop_front(inputs.size()), maps, iterators);
  result.getRegion().takeBody(op.getRegion());
  op.erase();
  return result;
}

linalg::GenericOp mpc::collapseSums(linalg::GenericOp op) {
  SmallVector<unsigned> sums;
  op.getReductionDims(sums);
  const unsigned first = sums.front();
  SmallVector<ReassociationIndices> loops;
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
    if (loop > first && llvm::is_contained(sums, loop))
      loops.back().push_back(loop);
    else
      loops.push_back({loop});
  const bool isInOrder = sums.back() - first + 1 == sums.size();
  return isInOrder && areCollapsible(op, loops) ? collapse(op, loops) : op;
}

linalg::GenericOp mpc::collapseLaunched(linalg::GenericOp op, ArrayRef<unsigned> launched) {
  SmallVector<ReassociationIndices> loops;
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop) {
    const bool bothCount =
        loop > 0 && llvm::is_contained(launched, loop - 1) && llvm::is_contained(launched, loop);
    if (bothCount) {
      loops.back().push_back(loop);
      if (areCollapsible(op, loops.back()))
        continue;
      loops.back().pop_back();
    }
    loops.push_back({loop});
  }
  return loops.size() < op.getNumLoops() ? collapse(op, loops) : op;
}
