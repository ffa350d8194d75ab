// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dependences of structured ops, row by row.
#include "lib/Buffers/RowGroup.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "mpc/Analysis/LoopExtent.h"

using namespace mlir;
using namespace mpc;

/// A longer row leaves the cache before the next op of the group comes.
static constexpr int64_t kMaxElementsPerRow = 32768;

/// More ops are another group: one kernel of all of them would save no more memory traffic, and
/// LLVM's time grows faster than the code of a function. In the conformance cases and benchmarks
/// the largest has 25; a model with many outputs sums the loss of each of them in one pass over the
/// rows.
static constexpr size_t kMostOps = 48;

/// An op behind so many ops that wait finds nothing of the group in the cache.
static constexpr size_t kMostPostponed = 256;

/// Whether every element of the view has the indices that it has in the whole.
static bool keepsIndices(memref::SubViewOp view) {
  return view.hasUnitStride() && view.hasZeroOffset() &&
         view.getType().getRank() == view.getSourceType().getRank();
}

/// The buffer whose rows the rows of `buffer` are: views that only add or drop dimensions of one
/// element behind the first one are looked through. With `findsWhole`, so are the first columns of
/// a buffer.
static Value rowsOf(Value buffer, bool findsWhole) {
  auto outer = [](Value value) {
    ArrayRef<int64_t> shape = cast<MemRefType>(value.getType()).getShape();
    SmallVector<int64_t> extents;
    for (auto [d, extent] : llvm::enumerate(shape))
      if (d == 0 || extent != 1)
        extents.push_back(extent);
    return extents;
  };
  while (Operation *view = buffer.getDefiningOp()) {
    if (auto columns = dyn_cast<memref::SubViewOp>(view);
        columns && findsWhole && keepsIndices(columns)) {
      buffer = columns.getSource();
      continue;
    }
    if (!isa<memref::ExpandShapeOp, memref::CollapseShapeOp>(view) ||
        outer(view->getOperand(0)) != outer(buffer) || outer(buffer).empty())
      break;
    buffer = view->getOperand(0);
  }
  return buffer;
}

static unsigned countRowLoops(AffineMap map) {
  unsigned count = 0;
  while (count < map.getNumResults() &&
         map.getResult(count) == getAffineDimExpr(count, map.getContext()))
    ++count;
  return count;
}

static SmallVector<RowAccesses::Access> findAccesses(linalg::LinalgOp op, bool findsWhole) {
  SmallVector<RowAccesses::Access> accesses;
  for (OpOperand &operand : op->getOpOperands())
    if (isa<MemRefType>(operand.get().getType()))
      accesses.push_back({rowsOf(operand.get(), findsWhole),
                          memref::skipViewLikeOps(cast<MemrefValue>(operand.get())),
                          countRowLoops(op.getMatchingIndexingMap(&operand)),
                          op.isDpsInit(&operand)});
  // The body may read other buffers by itself, anywhere.
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value value : captured)
    if (isa<MemRefType>(value.getType()))
      accesses.push_back({value, memref::skipViewLikeOps(cast<MemrefValue>(value)), 0, false});
  return accesses;
}

/// How many first loops can count rows that are no columns of what the op sums: each such row would
/// read memory in strides.
static unsigned countRowsOfSums(linalg::LinalgOp op) {
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  unsigned most = op.getNumLoops();
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(input);
    if (map.getNumResults() == 0)
      continue;
    auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
    if (last && llvm::any_of(reductions, [&](unsigned loop) { return map.isFunctionOfDim(loop); }))
      most = std::min(most, last.getPosition());
  }
  return most;
}

static RowAccesses::Loops findLoops(linalg::LinalgOp op) {
  RowAccesses::Loops loops;
  loops.isOnBuffers = op.hasPureBufferSemantics();
  if (!loops.isOnBuffers)
    return loops;
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
    loops.extents.push_back(getLoopExtent(op, loop));
  auto iterators = op.getIteratorTypesArray();
  auto *firstSum = llvm::find(iterators, utils::IteratorType::reduction);
  loops.outer = static_cast<unsigned>(firstSum - iterators.begin());
  loops.sums = firstSum != iterators.end();
  loops.hasColumns =
      is_contained(llvm::make_range(firstSum, iterators.end()), utils::IteratorType::parallel);
  loops.mostRows = countRowsOfSums(op);
  return loops;
}

const RowAccesses::Known &RowAccesses::find(linalg::LinalgOp op) {
  auto [found, isNew] = known.try_emplace(op);
  if (isNew)
    found->second = std::make_unique<Known>(Known{findAccesses(op, findsWhole), findLoops(op)});
  return *found->second;
}

void RowGroup::Accesses::add(ArrayRef<Access> more) {
  for (const Access &access : more) {
    inOrder.push_back(access.origin);
    byOrigin[access.origin].push_back(access);
  }
}

void RowGroup::Accesses::truncate(size_t count) {
  while (inOrder.size() > count)
    byOrigin[inOrder.pop_back_val()].pop_back();
}

ArrayRef<RowGroup::Access> RowGroup::Accesses::to(Value origin) const {
  auto found = byOrigin.find(origin);
  return found == byOrigin.end() ? ArrayRef<Access>() : ArrayRef<Access>(found->second);
}

bool RowGroup::Accesses::conflictWith(ArrayRef<Access> others) const {
  return llvm::any_of(others, [&](const Access &a) {
    return llvm::any_of(to(a.origin), [&](const Access &b) { return a.writes || b.writes; });
  });
}

void RowGroup::restore(const State &state) {
  for (Operation *op : ArrayRef(ops).drop_front(state.ops))
    members.erase(op);
  ops.truncate(state.ops);
  accesses.truncate(state.accesses);
  loops = state.loops;
  elementsSummed = state.elementsSummed;
  extents = state.extents;
}

std::optional<RowGroup::Rows> RowGroup::countRows(const RowAccesses::Loops &op,
                                                  unsigned most) const {
  Rows rows{most, {}};
  for (auto [loop, extent] : llvm::enumerate(op.extents)) {
    if (!extent)
      return std::nullopt;
    if (loop < rows.loops && (ops.empty() || extents[loop] == *extent))
      rows.extents.push_back(*extent);
    else
      rows.loops = std::min(rows.loops, static_cast<unsigned>(loop));
    if (loop < rows.loops)
      continue;
    if (!extent->isFixed())
      return std::nullopt;
    rows.elements *= std::max<int64_t>(1, extent->fixed);
    if (rows.elements > kMaxElementsPerRow)
      return std::nullopt;
  }
  return rows;
}

unsigned RowGroup::countIndependentLoops(ArrayRef<Access> added, unsigned common) const {
  auto meet = [&](const Access &a, const Access &b) {
    if (a.origin != b.origin || (!a.writes && !b.writes))
      return;
    common = a.buffer == b.buffer ? std::min({common, a.rowLoops, b.rowLoops}) : 0;
  };
  for (auto [index, access] : llvm::enumerate(added)) {
    for (const Access &other : accesses.to(access.origin))
      meet(access, other);
    // An op that reads what it writes at another index would be a race already, but for its own
    // row.
    for (const Access &other : added.drop_front(index + 1))
      meet(access, other);
  }
  return common;
}

bool RowGroup::isFull() const { return ops.size() >= kMostOps; }

bool RowGroup::add(Operation *candidate) {
  auto op = isFull() ? linalg::LinalgOp() : dyn_cast<linalg::LinalgOp>(candidate);
  if (!op)
    return false;
  const RowAccesses::Loops &own = known->loopsOf(op);
  if (!own.isOnBuffers || own.extents.empty())
    return false;
  // Alone, such an op has a thread for each of the columns that it sums.
  if (keepsRows && own.hasColumns)
    return false;
  auto rows = countRows(own, std::min(own.outer, ops.empty() ? mostLoops : loops));
  if (!rows)
    return false;
  ArrayRef<Access> added = known->of(op);
  if (postponedAccesses.conflictWith(added))
    return false;
  rows->loops = countIndependentLoops(added, rows->loops);
  if (rows->loops == 0 || rows->loops > own.mostRows)
    return false;
  if (keepsRows &&
      ((!ops.empty() && rows->loops < loops) || (own.sums && rows->loops < own.outer) ||
       (elementsSummed && rows->elements > 2 * elementsSummed)))
    return false;
  if (own.sums)
    elementsSummed = std::max(elementsSummed, rows->elements);
  ops.push_back(candidate);
  members.insert(candidate);
  accesses.add(added);
  loops = rows->loops;
  extents = std::move(rows->extents);
  extents.resize(loops, BatchExtent());
  return true;
}

bool RowGroup::canPass(Operation *op) const {
  if (contains(op) || isa<memref::AllocOp>(op))
    return true;
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  // Their effects are known; to ask for them takes longer than everything else here.
  if (!structured || !known->loopsOf(structured).isOnBuffers) {
    if (isMemoryEffectFree(op))
      return true;
    if (!structured)
      return false;
  }
  ArrayRef<Access> passed = known->of(structured);
  return !accesses.conflictWith(passed) && !postponedAccesses.conflictWith(passed);
}

bool RowGroup::postpone(Operation *op) {
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  if (!structured || !structured.hasPureBufferSemantics() || postponed.size() >= kMostPostponed)
    return false;
  postponed.push_back(op);
  postponedAccesses.add(known->of(structured));
  return true;
}

bool RowGroup::isWorthwhile() const {
  return ops.size() > 1 && llvm::any_of(ops, [&](Operation *op) {
           return cast<linalg::LinalgOp>(op).getNumReductionLoops() > 0;
         });
}

bool RowGroup::isRowWise(Value buffer) const {
  return llvm::all_of(accesses.to(buffer), [&](const Access &access) {
    return access.buffer == buffer && access.rowLoops >= loops;
  });
}

std::optional<int64_t> RowGroup::bytesPerRow(MemRefType type) const {
  if (type.getRank() < static_cast<int64_t>(loops) || !type.getLayout().isIdentity())
    return std::nullopt;
  int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  for (int64_t extent : type.getShape().drop_front(loops)) {
    if (ShapedType::isDynamic(extent))
      return std::nullopt;
    if (llvm::MulOverflow(bytes, extent, bytes))
      return std::nullopt;
  }
  return bytes;
}
