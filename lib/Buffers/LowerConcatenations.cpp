// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-lower-concatenations: parts that are computed where they belong, and copies of the others.
//
// On buffers, because what overwrites what is settled there: of each part and of the whole only
// the positions in a block are compared, once per use.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Buffers/StridedBuffer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mpc/Analysis/BatchExtent.h"
#include "mpc/Buffers/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_LOWERCONCATENATIONS
#include "mpc/Buffers/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// How the ops of a block use a buffer before, in and behind one of them.
struct Uses {
  bool isTouchedBefore = false, isWrittenAfter = false, isReadAfter = false;
};

/// None when some user is not known to read and write only, or stands in another block than `op`.
static std::optional<Uses> findUses(Value buffer, Operation *op) {
  Uses uses;
  SmallVector<Value> aliases{buffer};
  while (!aliases.empty()) {
    Value alias = aliases.pop_back_val();
    for (OpOperand &use : alias.getUses()) {
      Operation *user = use.getOwner(), *ancestor = op->getBlock()->findAncestorOpInBlock(*user);
      if (!ancestor)
        return std::nullopt;
      if (isa<memref::CollapseShapeOp, memref::ExpandShapeOp, memref::SubViewOp>(user)) {
        aliases.push_back(user->getResult(0));
        continue;
      }
      if (ancestor == op || isa<memref::DimOp>(user))
        continue;
      auto effects = dyn_cast<MemoryEffectOpInterface>(user);
      if (!effects || llvm::any_of(user->getResultTypes(), llvm::IsaPred<MemRefType>))
        return std::nullopt;
      SmallVector<MemoryEffects::EffectInstance> instances;
      effects.getEffectsOnValue(alias, instances);
      const bool isAfter = op->isBeforeInBlock(ancestor);
      uses.isTouchedBefore |= !isAfter;
      for (const MemoryEffects::EffectInstance &instance : instances) {
        if (!isa<MemoryEffects::Read, MemoryEffects::Write>(instance.getEffect()))
          return std::nullopt;
        bool &flag =
            isa<MemoryEffects::Read>(instance.getEffect()) ? uses.isReadAfter : uses.isWrittenAfter;
        flag |= isAfter;
      }
    }
  }
  return uses;
}

namespace {
class Concatenation {
public:
  Concatenation(IRRewriter &rewriter, mpcrt::ConcatenateOp op, Value batch)
      : rewriter(rewriter), op(op), batch(batch) {}

  void lower();

private:
  /// A part that is computed in place: its operand's views, from the allocation on.
  struct Placed {
    unsigned index;
    memref::AllocOp alloc;
    SmallVector<Operation *> views;
  };

  std::optional<Uses> findUsesOfWhole();
  SmallVector<Placed> findParts();
  std::optional<Placed> findPart(unsigned index, const Uses &whole);
  MemRefType typeOf(unsigned index);
  SmallVector<OpFoldResult> sizesOf(Value shaped);
  void moveWholeBefore(Operation *point);
  Value viewOf(unsigned index);
  Value reshapeBack(Value view, ArrayRef<Operation *> views);

  IRRewriter &rewriter;
  mpcrt::ConcatenateOp op;
  Value batch;
  SmallVector<int64_t> offsets; // of the parts along the axis
};
} // namespace

/// None when parts cannot be computed in it.
std::optional<Uses> Concatenation::findUsesOfWhole() {
  Value whole = op.getOut();
  auto argument = dyn_cast<BlockArgument>(whole);
  auto alloc = whole.getDefiningOp<memref::AllocOp>();
  if (!cast<MemRefType>(whole.getType()).getLayout().isIdentity() ||
      !(argument ? argument.getOwner() == op->getBlock() &&
                       isa<func::FuncOp>(op->getBlock()->getParentOp())
                 : alloc && alloc->getBlock() == op->getBlock()))
    return std::nullopt;
  for (int64_t d = 0; d < cast<MemRefType>(whole.getType()).getRank(); ++d)
    if (auto extent = getExtent(whole, d); !extent || (!extent->isFixed() && !batch))
      return std::nullopt;
  auto uses = findUses(whole, op);
  return uses && !uses->isTouchedBefore ? uses : std::nullopt;
}

/// The type of a part as a view of the whole.
MemRefType Concatenation::typeOf(unsigned index) {
  auto whole = cast<MemRefType>(op.getOut().getType());
  SmallVector<int64_t> sizes(cast<MemRefType>(op.getParts()[index].getType()).getShape());
  SmallVector<int64_t> starts(sizes.size(), 0), strides(sizes.size(), 1);
  starts[op.getAxis()] = offsets[index];
  return memref::SubViewOp::inferResultType(whole, starts, sizes, strides);
}

/// The type of what `view` is a view of when the view has the type `result`; null for none.
static MemRefType getTypeOfSource(Operation *view, MemRefType result) {
  auto shape = cast<MemRefType>(view->getOperand(0).getType()).getShape();
  if (auto expand = dyn_cast<memref::ExpandShapeOp>(view)) {
    auto groups = expand.getReassociationIndices();
    return memref::CollapseShapeOp::isGuaranteedCollapsible(result, groups)
               ? memref::CollapseShapeOp::computeCollapsedType(result, groups)
               : MemRefType();
  }
  auto type = memref::ExpandShapeOp::computeExpandedType(
      result, shape, cast<memref::CollapseShapeOp>(view).getReassociationIndices());
  return succeeded(type) ? *type : MemRefType();
}

std::optional<Concatenation::Placed> Concatenation::findPart(unsigned index, const Uses &whole) {
  Placed part{index, {}, {}};
  MemRefType type = typeOf(index);
  Value buffer = op.getParts()[index];
  while (Operation *view = buffer.getDefiningOp()) {
    if (!isa<memref::ExpandShapeOp, memref::CollapseShapeOp>(view))
      break;
    type = getTypeOfSource(view, type);
    if (!type)
      return std::nullopt;
    part.views.push_back(view);
    buffer = view->getOperand(0);
  }
  part.alloc = buffer.getDefiningOp<memref::AllocOp>();
  if (!part.alloc || part.alloc->getBlock() != op->getBlock() || buffer == op.getOut() ||
      !cast<MemRefType>(buffer.getType()).getLayout().isIdentity() ||
      cast<MemRefType>(buffer.getType()).getShape() != type.getShape())
    return std::nullopt;
  for (Operation *view : part.views)
    for (int64_t d = 0; d < cast<MemRefType>(view->getOperand(0).getType()).getRank(); ++d)
      if (!getExtent(view->getOperand(0), d))
        return std::nullopt;
  auto uses = findUses(buffer, op);
  if (!uses || uses->isWrittenAfter || (uses->isReadAfter && whole.isWrittenAfter) ||
      !canHaveType(buffer, type))
    return std::nullopt;
  std::reverse(part.views.begin(), part.views.end());
  return part;
}

/// A buffer that is a part twice is computed in one place.
SmallVector<Concatenation::Placed> Concatenation::findParts() {
  auto whole = findUsesOfWhole();
  if (!whole)
    return {};
  SmallVector<Placed> parts;
  DenseSet<Operation *> allocs;
  for (unsigned index = 0; index < op.getParts().size(); ++index)
    if (auto part = findPart(index, *whole); part && allocs.insert(part->alloc).second)
      parts.push_back(std::move(*part));
  return parts;
}

SmallVector<OpFoldResult> Concatenation::sizesOf(Value shaped) {
  SmallVector<OpFoldResult> sizes;
  auto type = cast<MemRefType>(shaped.getType());
  for (auto [d, extent] : llvm::enumerate(type.getShape())) {
    if (!ShapedType::isDynamic(extent))
      sizes.push_back(rewriter.getIndexAttr(extent));
    else if (auto known = batch ? getExtent(shaped, d) : std::nullopt)
      sizes.push_back(materialize(rewriter, op.getLoc(), *known, batch));
    else
      sizes.push_back(memref::DimOp::create(rewriter, op.getLoc(), shaped, d).getResult());
  }
  return sizes;
}

void Concatenation::moveWholeBefore(Operation *point) {
  auto alloc = op.getOut().getDefiningOp<memref::AllocOp>();
  rewriter.setInsertionPoint(point);
  if (!alloc || alloc->isBeforeInBlock(point))
    return;
  SmallVector<Value> extents;
  for (OpFoldResult size : sizesOf(alloc))
    if (auto extent = dyn_cast<Value>(size))
      extents.push_back(extent);
  rewriter.replaceOp(alloc, memref::AllocOp::create(rewriter, alloc.getLoc(), alloc.getType(),
                                                    extents, alloc.getAlignmentAttr()));
}

Value Concatenation::viewOf(unsigned index) {
  SmallVector<OpFoldResult> sizes = sizesOf(op.getParts()[index]);
  SmallVector<OpFoldResult> starts(sizes.size(), rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(sizes.size(), rewriter.getIndexAttr(1));
  starts[op.getAxis()] = rewriter.getIndexAttr(offsets[index]);
  return memref::SubViewOp::create(rewriter, op.getLoc(), typeOf(index), op.getOut(), starts, sizes,
                                   strides);
}

/// The buffer of which `views`, one of the other, would be `view`.
Value Concatenation::reshapeBack(Value view, ArrayRef<Operation *> views) {
  for (Operation *reshape : llvm::reverse(views)) {
    MemRefType type = getTypeOfSource(reshape, cast<MemRefType>(view.getType()));
    if (auto expand = dyn_cast<memref::ExpandShapeOp>(reshape))
      view = memref::CollapseShapeOp::create(rewriter, op.getLoc(), type, view,
                                             expand.getReassociationIndices());
    else
      view = memref::ExpandShapeOp::create(
          rewriter, op.getLoc(), type, view,
          cast<memref::CollapseShapeOp>(reshape).getReassociationIndices(),
          sizesOf(reshape->getOperand(0)));
  }
  return view;
}

void Concatenation::lower() {
  int64_t offset = 0;
  for (Value part : op.getParts()) {
    offsets.push_back(offset);
    offset += cast<MemRefType>(part.getType()).getDimSize(op.getAxis());
  }
  SmallVector<Placed> parts = findParts();
  llvm::BitVector isPlaced(op.getParts().size());
  if (!parts.empty())
    moveWholeBefore(*llvm::min_element(
        llvm::map_range(parts, [](const Placed &part) { return part.alloc; }),
        [](memref::AllocOp a, memref::AllocOp b) { return a->isBeforeInBlock(b); }));
  // All views stand where the whole is: a part may be another one's shape.
  SmallVector<Value> buffers;
  for (const Placed &part : parts) {
    isPlaced.set(part.index);
    buffers.push_back(reshapeBack(viewOf(part.index), part.views));
  }
  for (auto [part, buffer] : llvm::zip_equal(parts, buffers))
    replaceAllocation(rewriter, part.alloc, buffer);
  rewriter.setInsertionPoint(op);
  for (unsigned index = 0; index < op.getParts().size(); ++index)
    if (!isPlaced[index])
      memref::CopyOp::create(rewriter, op.getLoc(), op.getParts()[index], viewOf(index));
  rewriter.eraseOp(op);
}

namespace {
struct LowerConcatenationsPass : mpc::impl::LowerConcatenationsBase<LowerConcatenationsPass> {
  void runOnModule() override {
    IRRewriter rewriter(&getContext());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      SmallVector<mpcrt::ConcatenateOp> ops;
      function.walk([&](mpcrt::ConcatenateOp op) {
        if (op.isBufferized())
          ops.push_back(op);
      });
      for (mpcrt::ConcatenateOp op : ops)
        Concatenation(rewriter, op, getBatchArgument(function)).lower();
    }
  }
};
} // namespace
