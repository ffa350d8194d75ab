// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Conversion/LinalgToMpcrt/ElementKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mpc;

/// `isOwnElement(loop, indices)`: of the op in `loop` these are the iteration's.
static std::optional<ElementAccess>
findAccess(BlockArgument argument, function_ref<bool(scf::ForOp, ValueRange)> isOwnElement) {
  ElementAccess access;
  for (OpOperand &use : argument.getUses()) {
    auto loop = dyn_cast<scf::ForOp>(use.getOwner()->getParentOp());
    if (!loop)
      return std::nullopt;
    ValueRange indices;
    if (auto load = dyn_cast<memref::LoadOp>(use.getOwner())) {
      access.isRead = true;
      indices = load.getIndices();
    } else if (auto store = dyn_cast<memref::StoreOp>(use.getOwner())) {
      access.isWritten = true;
      indices = store.getIndices();
    } else {
      return std::nullopt;
    }
    if (!isOwnElement(loop, indices))
      return std::nullopt;
  }
  return access;
}

static Value beginOf(func::FuncOp kernel) { return kernel.getArguments().drop_back().back(); }
static Value endOf(func::FuncOp kernel) { return kernel.getArguments().back(); }

/// Whether the loop is the kernel's, over its own iterations.
static bool isOverIterations(scf::ForOp loop, func::FuncOp kernel) {
  return loop->getParentOp() == kernel && loop.getLowerBound() == beginOf(kernel) &&
         loop.getUpperBound() == endOf(kernel);
}

std::optional<ElementAccess> mpc::findElementAccess(BlockArgument argument) {
  auto kernel = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return findAccess(argument, [&](scf::ForOp loop, ValueRange indices) {
    return isOverIterations(loop, kernel) && indices.size() == 1 &&
           indices.front() == loop.getInductionVar();
  });
}

/// The only op of the block that is more than arithmetic, if it is a loop.
static scf::ForOp onlyLoopOf(Block &block) {
  scf::ForOp found;
  for (Operation &op : block.without_terminator()) {
    if (op.getNumRegions() == 0 && isMemoryEffectFree(&op))
      continue;
    if (found || !isa<scf::ForOp>(op))
      return nullptr;
    found = cast<scf::ForOp>(op);
  }
  return found;
}

scf::ForOp mpc::findElementLoop(func::FuncOp kernel) {
  scf::ForOp found;
  auto isStraight = [](Operation &op) {
    return op.getNumRegions() == 0 &&
           (isMemoryEffectFree(&op) || isa<memref::LoadOp, memref::StoreOp>(op));
  };
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    auto loop = dyn_cast<scf::ForOp>(op);
    if ((loop && found) || (!loop && (!isStraight(op) || isa<memref::StoreOp>(op))))
      return nullptr;
    if (loop)
      found = loop;
  }
  return found && isOverIterations(found, kernel) && found.getNumResults() == 0 &&
                 isConstantIntValue(found.getStep(), 1) &&
                 llvm::all_of(found.getBody()->without_terminator(), isStraight)
             ? found
             : nullptr;
}

scf::ForOp mpc::findStraightLoop(func::FuncOp kernel) {
  scf::ForOp loop = findElementLoop(kernel);
  const bool readsBefore =
      llvm::any_of(kernel.getBody().front(), [](Operation &op) { return isa<memref::LoadOp>(op); });
  return readsBefore ? nullptr : loop;
}

std::optional<RowLoops> mpc::findRowLoops(func::FuncOp kernel) {
  scf::ForOp rows = onlyLoopOf(kernel.getBody().front());
  if (!rows || !isOverIterations(rows, kernel))
    return std::nullopt;
  scf::ForOp columns = onlyLoopOf(*rows.getBody());
  if (!columns || !columns->hasAttr(mpcrt::MpcrtDialect::kIndependentAttr) ||
      columns.getNumResults() != 0 || !isConstantIntValue(columns.getLowerBound(), 0) ||
      !isConstantIntValue(columns.getStep(), 1))
    return std::nullopt;
  auto width = getConstantIntValue(columns.getUpperBound());
  if (!width || *width <= 0)
    return std::nullopt;
  return RowLoops{rows, columns, *width};
}

/// Whether `value` is `of` divided by `by`.
static bool isQuotient(Value value, Value of, int64_t by) {
  auto quotient = value.getDefiningOp<arith::DivUIOp>();
  return quotient && quotient.getLhs() == of && isConstantIntValue(quotient.getRhs(), by);
}

bool mpc::isPlaceOf(ValueRange indices, ArrayRef<int64_t> extents, Value row) {
  if (indices.empty())
    return false;
  for (size_t dim = indices.size() - 1; dim > 0; --dim) {
    auto inner = indices[dim].getDefiningOp<arith::RemUIOp>();
    if (!inner || inner.getLhs() != row || !isConstantIntValue(inner.getRhs(), extents[dim]))
      return false;
    Value outer = indices[dim - 1];
    if (auto remainder = outer.getDefiningOp<arith::RemUIOp>(); remainder && dim > 1)
      outer = remainder.getLhs();
    if (!isQuotient(outer, row, extents[dim]))
      return false;
    row = outer;
  }
  return indices.front() == row;
}

std::optional<ElementAccess> mpc::findElementAccess(BlockArgument argument, RowLoops loops) {
  auto type = dyn_cast<MemRefType>(argument.getType());
  if (!type || type.getRank() < 2 || !type.getLayout().isIdentity() ||
      type.getShape().back() != loops.width)
    return std::nullopt;
  return findAccess(argument, [&](scf::ForOp loop, ValueRange indices) {
    return loop == loops.columns && indices.back() == loops.columns.getInductionVar() &&
           isPlaceOf(indices.drop_back(), type.getShape().drop_back(),
                     loops.rows.getInductionVar());
  });
}

unsigned KernelCopies::mergeInPlace(mpcrt::LaunchOp launch, unsigned read, unsigned written) {
  func::FuncOp kernel = uses.kernelOf(launch);
  func::FuncOp &copy = inPlace[{kernel, read, written}];
  if (!copy) {
    copy = kernel.clone();
    copy.setSymName((kernel.getSymName() + "_in_place").str());
    copy.getArgument(written).replaceAllUsesWith(copy.getArgument(read));
    (void)copy.eraseArgument(written);
    uses.insert(copy, kernel);
  }
  launch.setKernelAttr(FlatSymbolRefAttr::get(copy.getSymNameAttr()));
  launch.getArgumentsMutable().erase(written);
  return read - (written < read);
}

/// Changes iterations that are rows to those that are elements. Whole rows keep their loop, whose
/// length the code generator knows; a second one has rows that are cut.
static void splitRows(RowLoops loops) {
  auto kernel = loops.rows->getParentOfType<func::FuncOp>();
  OpBuilder builder(loops.rows);
  Location loc = loops.rows.getLoc();
  auto constant = [&](int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value).getResult();
  };
  Value begin = beginOf(kernel), end = endOf(kernel), zero = constant(0);
  Value width = constant(loops.width), last = constant(loops.width - 1);
  Value firstRow = arith::DivUIOp::create(builder, loc, begin, width);
  Value endRow =
      arith::DivUIOp::create(builder, loc, arith::AddIOp::create(builder, loc, end, last), width);
  Value cut = arith::OrIOp::create(builder, loc, arith::RemUIOp::create(builder, loc, begin, width),
                                   arith::RemUIOp::create(builder, loc, end, width));
  Value isWhole =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, cut, zero).getResult();
  loops.rows.getLowerBoundMutable().assign(firstRow);
  loops.rows.getUpperBoundMutable().assign(endRow);
  auto both = scf::IfOp::create(builder, loc, isWhole, /*withElseRegion=*/true);
  auto cutRows = cast<scf::ForOp>(both.getElseBodyBuilder().clone(*loops.rows));
  loops.rows->moveBefore(both.thenBlock()->getTerminator());

  scf::ForOp columns = onlyLoopOf(*cutRows.getBody());
  builder.setInsertionPoint(columns);
  Value first = arith::MulIOp::create(builder, loc, cutRows.getInductionVar(), width);
  Value fromFirst = arith::SubIOp::create(builder, loc, begin, first);
  Value toEnd = arith::SubIOp::create(builder, loc, end, first);
  columns.getLowerBoundMutable().assign(arith::MaxSIOp::create(builder, loc, fromFirst, zero));
  columns.getUpperBoundMutable().assign(arith::MinSIOp::create(builder, loc, toEnd, width));
}

void KernelCopies::splitRows(OpBuilder &builder, mpcrt::LaunchOp launch) {
  func::FuncOp kernel = uses.kernelOf(launch);
  const int64_t width = findRowLoops(kernel)->width;
  func::FuncOp &copy = byElements[kernel];
  if (!copy) {
    copy = kernel.clone();
    copy.setSymName((kernel.getSymName() + "_by_elements").str());
    ::splitRows(*findRowLoops(copy));
    uses.insert(copy, kernel);
  }
  Value elements =
      arith::MulIOp::create(builder, launch.getLoc(), launch.getCount(),
                            arith::ConstantIndexOp::create(builder, launch.getLoc(), width));
  launch.setKernelAttr(FlatSymbolRefAttr::get(copy.getSymNameAttr()));
  launch.getCountMutable().assign(elements);
  launch.setGrain(launch.getGrain() * width);
}

void KernelCopies::eraseUnused() {
  // One kernel may have several copies.
  llvm::SmallSetVector<Operation *, 8> kernels;
  for (auto &[key, copy] : inPlace)
    kernels.insert(std::get<0>(key));
  for (auto &[kernel, copy] : byElements)
    kernels.insert(kernel);
  uses.eraseUnused(kernels.getArrayRef());
  inPlace.clear();
  byElements.clear();
}
