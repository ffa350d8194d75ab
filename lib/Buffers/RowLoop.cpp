// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Accesses of the ops in a loop, row by row or not.
#include "lib/Buffers/RowLoop.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "mpc/Analysis/LoopExtent.h"

using namespace mlir;
using namespace mpc;

/// Whether the first group of a reassociation is the first dimension and others of one element.
static bool keepsFirst(ArrayRef<int64_t> group, ArrayRef<int64_t> shape) {
  return llvm::all_of(group.drop_front(), [&](int64_t dim) { return shape[dim] == 1; });
}

/// Whether row i of the view is a part of row i of its source, for all rows.
static bool keepsRows(Operation *view) {
  Value source = view->getOperand(0), result = view->getResult(0);
  if (cast<MemRefType>(source.getType()).getRank() == 0 ||
      cast<MemRefType>(result.getType()).getRank() == 0)
    return false;
  if (auto subview = dyn_cast<memref::SubViewOp>(view)) {
    auto size = getExtent(result, 0), all = getExtent(source, 0);
    return isConstantIntValue(subview.getMixedOffsets()[0], 0) &&
           isConstantIntValue(subview.getMixedStrides()[0], 1) &&
           !subview.getDroppedDims().test(0) && size && all && *size == *all;
  }
  if (auto expand = dyn_cast<memref::ExpandShapeOp>(view))
    return keepsFirst(expand.getReassociationIndices()[0], expand.getResultType().getShape());
  if (auto collapse = dyn_cast<memref::CollapseShapeOp>(view))
    return keepsFirst(collapse.getReassociationIndices()[0], collapse.getSrcType().getShape());
  return isa<memref::CastOp>(view);
}

bool RowLoop::refuse(Operation *op, StringRef why) {
  if (reason.empty())
    reason = (op->getName().getStringRef() + " " + why).str();
  return false;
}

bool RowLoop::addAccess(Operation *op, Value buffer, bool isWritten, bool isRowWise) {
  Value origin = memref::skipViewLikeOps(cast<MemrefValue>(buffer));
  // Temporaries of a group lie on the stack of the thread that runs it.
  if (origin.getDefiningOp<memref::AllocaOp>() &&
      isa<mpcrt::RowsOp>(origin.getDefiningOp()->getParentOp()))
    return true;
  auto argument = dyn_cast<BlockArgument>(origin);
  if (!(argument && isa<func::FuncOp>(argument.getOwner()->getParentOp())) &&
      !origin.getDefiningOp<memref::AllocOp>() && !origin.getDefiningOp<memref::GetGlobalOp>())
    return refuse(op, "touches a buffer of unknown origin");
  for (Value view = buffer; isRowWise && view != origin; view = view.getDefiningOp()->getOperand(0))
    isRowWise = keepsRows(view.getDefiningOp());
  if (isRowWise) {
    auto extent = getExtent(origin, 0);
    if (extent && !rows)
      rows = extent;
    isRowWise = extent && *extent == *rows;
  }
  Buffer &known = buffers[origin];
  known.isWritten |= isWritten;
  if (!isRowWise && !known.mixing)
    known.mixing = op;
  return !(known.isWritten && known.mixing) ||
         refuse(known.mixing, "mixes rows of a buffer that the loop writes");
}

bool RowLoop::addContract(mpcrt::ContractOp op) {
  if (!op.isByRows())
    return refuse(op, "has no form for a part of the rows");
  for (Value shared : {op.getRhs(), op.getBias()})
    if (shared && !(loop.isDefinedOutsideOfLoop(shared) &&
                    addAccess(op, shared, /*isWritten=*/false, /*isRowWise=*/false)))
      return refuse(op, "has another right operand or bias in each step");
  return addAccess(op, op.getLhs(), /*isWritten=*/false, /*isRowWise=*/true) &&
         addAccess(op, op.getOut(), /*isWritten=*/true, /*isRowWise=*/true);
}

bool RowLoop::addStructured(Operation *candidate) {
  auto op = cast<linalg::LinalgOp>(candidate);
  if (!op.hasPureBufferSemantics())
    return refuse(op, "is not on buffers");
  AffineExpr first = getAffineDimExpr(0, op.getContext());
  const bool countsRows =
      op.getNumLoops() > 0 && op.getIteratorTypesArray()[0] == utils::IteratorType::parallel;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    const bool isRowWise = countsRows && map.getNumResults() > 0 && map.getResult(0) == first;
    if (!addAccess(op, operand.get(), op.isDpsInit(&operand), isRowWise))
      return false;
  }
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value value : captured)
    if (isa<MemRefType>(value.getType()) &&
        !addAccess(op, value, /*isWritten=*/false, /*isRowWise=*/false))
      return false;
  // A part of the rows must be a part of the iterations.
  auto extent = getLoopExtent(op, 0);
  return (extent && rows && *extent == *rows) || refuse(op, "has another number of rows");
}

bool RowLoop::addOp(Operation *op) {
  if (auto contract = dyn_cast<mpcrt::ContractOp>(op))
    return addContract(contract);
  if (isa<linalg::LinalgOp>(op))
    return addStructured(op);
  if (auto copy = dyn_cast<memref::CopyOp>(op))
    return addAccess(op, copy.getSource(), /*isWritten=*/false, /*isRowWise=*/true) &&
           addAccess(op, copy.getTarget(), /*isWritten=*/true, /*isRowWise=*/true);
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return addAccess(op, load.getMemRef(), /*isWritten=*/false, /*isRowWise=*/false);
  if (auto inner = dyn_cast<scf::ForOp>(op); inner && inner->getNumResults() > 0)
    return refuse(op, "carries values that are no buffers");
  if (isa<scf::ForOp, mpcrt::RowsOp>(op))
    return llvm::all_of(op->getRegion(0).getOps(), [&](Operation &inner) { return addOp(&inner); });
  if (isa<memref::AllocOp, memref::AllocaOp, scf::YieldOp>(op) ||
      (isMemoryEffectFree(op) && op->getNumRegions() == 0))
    return true;
  return refuse(op, "has no form for a part of the rows");
}

bool RowLoop::isByRows() {
  if (!addOp(loop))
    return false;
  return rows || refuse(loop, "writes nothing");
}
