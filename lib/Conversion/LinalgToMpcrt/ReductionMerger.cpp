// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A GPU computes what an elementwise kernel does in the time that its memory takes: the largest
// magnitude of the same numbers beside it costs no read of its own.
#include "lib/Conversion/LinalgToMpcrt/ReductionMerger.h"
#include "lib/Conversion/LinalgToMpcrt/ElementKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "mpc/Analysis/BatchExtent.h"
#include "mpc/Analysis/LaunchWidth.h"
#include "mpc/Analysis/LoopOrder.h"
#include "mpc/Analysis/ReshapedBuffer.h"
#include "mpc/Analysis/TurnedPlace.h"

using namespace mlir;
using namespace mpc;

/// An index of the kernel as a function of the batch; none where it is something else.
static std::optional<BatchExtent> evaluateInside(Value index, mpcrt::LaunchOp launch) {
  if (auto constant = getConstantIntValue(index))
    return BatchExtent{*constant, 0};
  if (auto argument = dyn_cast<BlockArgument>(index))
    return argument.getArgNumber() < launch.getArguments().size()
               ? evaluateIndex(launch.getArguments()[argument.getArgNumber()])
               : std::nullopt;
  Operation *op = index.getDefiningOp();
  if (!isa<arith::AddIOp, arith::MulIOp>(op))
    return std::nullopt;
  auto lhs = evaluateInside(op->getOperand(0), launch),
       rhs = evaluateInside(op->getOperand(1), launch);
  if (!lhs || !rhs)
    return std::nullopt;
  return isa<arith::AddIOp>(op) ? *lhs + *rhs : *lhs * *rhs;
}

static Value bufferOf(Operation &op) {
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return load.getMemRef();
  auto store = dyn_cast<memref::StoreOp>(op);
  return store ? store.getMemRef() : Value();
}

static ValueRange indicesOf(Operation &op) {
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return load.getIndices();
  return cast<memref::StoreOp>(op).getIndices();
}

/// Whether the op of the loop touches the iteration's own element of an argument of the kernel.
static bool isAtOwnElement(Operation &op, scf::ForOp loop) {
  Value buffer = bufferOf(op);
  return isa<BlockArgument>(buffer) &&
         isPlaceOf(indicesOf(op), cast<MemRefType>(buffer.getType()).getShape(),
                   loop.getInductionVar());
}

/// The buffer that the launch passes for the argument: the whole of a buffer may come in two
/// shapes.
static Value operandOf(mpcrt::LaunchOp launch, Value argument) {
  return skipBufferReshapes(launch.getArguments()[cast<BlockArgument>(argument).getArgNumber()]);
}

std::optional<ReductionMerger::Parts> ReductionMerger::partsOf(mpcrt::LaunchOp launch) const {
  func::FuncOp kernel = uses.kernelOf(launch);
  auto parts = getConstantIntValue(launch.getCount());
  // Fewer threads than fill a GPU would wait for memory, one element after the other.
  if (!kernel || !parts || launchWidthOf(launch) != LaunchWidth::wide)
    return std::nullopt;
  scf::ForOp elements;
  for (auto loop : kernel.getOps<scf::ForOp>())
    for (auto inner : loop.getOps<scf::ForOp>()) {
      if (elements || inner.getLowerBound() != loop.getInductionVar() ||
          getConstantIntValue(inner.getStep()) != *parts || !combinesInAnyOrder(inner))
        return std::nullopt;
      elements = inner;
    }
  if (!elements)
    return std::nullopt;
  for (Operation &op : elements.getBody()->without_terminator())
    if (op.getNumRegions() != 0 || !(isMemoryEffectFree(&op) || isa<memref::LoadOp>(op)))
      return std::nullopt;
  return Parts{kernel, elements};
}

bool ReductionMerger::goTogether(mpcrt::LaunchOp elementwise, scf::ForOp loop,
                                 mpcrt::LaunchOp reduction, const Parts &parts) const {
  llvm::SmallDenseSet<Value> touched; // at the iteration's own element
  SmallVector<Value> written, others;
  bool hasStored = false;
  for (auto load : loop->getBlock()->getOps<memref::LoadOp>()) {
    if (!isa<BlockArgument>(load.getMemRef()))
      return false;
    others.push_back(operandOf(elementwise, load.getMemRef()));
  }
  for (Operation &op : loop.getBody()->without_terminator()) {
    Value buffer = bufferOf(op);
    if (!buffer)
      continue;
    const bool isStore = isa<memref::StoreOp>(op), isOwn = isAtOwnElement(op, loop);
    if (!isa<BlockArgument>(buffer) || (hasStored && !isStore) ||
        (isStore && !isOwn && !findTurnedPlace(cast<memref::StoreOp>(op), loop.getInductionVar())))
      return false;
    hasStored |= isStore;
    Value operand = operandOf(elementwise, buffer);
    if (isStore)
      written.push_back(operand);
    if (isOwn)
      touched.insert(operand);
    else if (!isStore)
      others.push_back(operand);
  }
  auto overlaps = [](Value buffer, ArrayRef<Value> those) {
    return llvm::any_of(those, [&](Value other) { return mayOverlap(buffer, other); });
  };
  // Each number that it writes is another place, and nothing else reads it in the same launch.
  for (size_t i = 0; i < written.size(); ++i)
    if (overlaps(written[i], others) || overlaps(written[i], ArrayRef(written).take_front(i)))
      return false;
  for (Value buffer : touched)
    if (!llvm::is_contained(written, buffer) && overlaps(buffer, written))
      return false;
  bool shares = false;
  scf::ForOp elements = parts.elements;
  for (Operation &op : elements.getBody()->without_terminator()) {
    Value buffer = bufferOf(op);
    if (!buffer)
      continue;
    Value operand = isa<BlockArgument>(buffer) ? operandOf(reduction, buffer) : Value();
    if (!operand || !isAtOwnElement(op, elements) || !touched.contains(operand) ||
        (llvm::is_contained(written, operand) && reduction->isBeforeInBlock(elementwise)))
      return false;
    shares = true;
  }
  // The reduction writes what nobody else touches.
  for (const BufferUse &use : *uses.of(reduction)) {
    if (!use.isWritten)
      continue;
    for (const BufferUse &other : *uses.of(elementwise))
      if (mayOverlap(use.buffer, other.buffer))
        return false;
  }
  return shares;
}

/// Puts what the iteration of `loop` does in front of that of `elements`, which takes the numbers
/// from there; what it stores comes last, so that packs of elements are loaded at once.
static void emitTogether(scf::ForOp elements, scf::ForOp loop, IRMapping &mapping,
                         ArrayRef<Value> operands) {
  auto operandOf = [&](Value argument) {
    return skipBufferReshapes(operands[cast<BlockArgument>(argument).getArgNumber()]);
  };
  OpBuilder builder = OpBuilder::atBlockBegin(elements.getBody());
  mapping.map(loop.getInductionVar(), elements.getInductionVar());
  llvm::DenseMap<Value, Value> numbers; // by the buffer: what it has after the iteration
  SmallVector<Operation *> stores;
  for (Operation &op : loop.getBody()->without_terminator()) {
    Value buffer = bufferOf(op);
    if (isa<memref::StoreOp>(op)) {
      stores.push_back(&op);
      numbers[operandOf(mapping.lookup(buffer))] =
          mapping.lookupOrDefault(cast<memref::StoreOp>(op).getValue());
      continue;
    }
    builder.clone(op, mapping);
    if (buffer && isAtOwnElement(op, loop))
      numbers[operandOf(mapping.lookup(buffer))] = mapping.lookup(op.getResult(0));
  }
  for (Operation &op : llvm::make_early_inc_range(
           llvm::make_range(builder.getInsertionPoint(), elements.getBody()->end())))
    if (auto load = dyn_cast<memref::LoadOp>(op)) {
      load.getResult().replaceAllUsesWith(numbers.lookup(operandOf(load.getMemRef())));
      load.erase();
    }
  builder.setInsertionPoint(elements.getBody()->getTerminator());
  for (Operation *store : stores)
    builder.clone(*store, mapping);
}

mpcrt::LaunchOp ReductionMerger::merge(mpcrt::LaunchOp elementwise, mpcrt::LaunchOp reduction,
                                       mpcrt::LaunchOp at) {
  func::FuncOp ofElements = uses.kernelOf(elementwise);
  scf::ForOp loop = ofElements ? findElementLoop(ofElements) : nullptr;
  const auto parts = partsOf(reduction);
  if (!loop || !parts || !uses.of(elementwise) || !uses.of(reduction))
    return nullptr;
  scf::ForOp old = parts->elements;
  const auto count = evaluateIndex(elementwise.getCount()),
             length = evaluateInside(old.getUpperBound(), reduction);
  if (!count || !length || !(*count == *length) ||
      !goTogether(elementwise, loop, reduction, *parts))
    return nullptr;

  SmallVector<Value> needed(reduction.getOperands());
  llvm::append_range(needed, elementwise.getOperands());
  IRRewriter rewriter(at);
  if (failed(moveValueDefinitions(rewriter, needed, at)))
    return nullptr;

  func::FuncOp ofParts = parts->kernel;
  IRMapping copy;
  auto kernel = cast<func::FuncOp>(ofParts->clone(copy));
  kernel.setSymName((ofParts.getSymName() + "_beside").str());
  SmallVector<Value> operands(reduction.getArguments());
  IRMapping mapping;
  for (auto [argument, operand] :
       llvm::zip(ofElements.getArguments(), elementwise.getArguments())) {
    const auto *known = llvm::find(operands, operand);
    const unsigned index = known - operands.begin();
    if (known == operands.end()) {
      if (failed(kernel.insertArgument(index, operand.getType(), {}, operand.getLoc())))
        return nullptr;
      operands.push_back(operand);
    }
    mapping.map(argument, kernel.getArgument(index));
  }
  OpBuilder start = OpBuilder::atBlockBegin(&kernel.getBody().front());
  for (Operation &op : ofElements.getBody().front().without_terminator())
    if (!isa<scf::ForOp>(op))
      start.clone(op, mapping);
  emitTogether(cast<scf::ForOp>(copy.lookup(old.getOperation())), loop, mapping, operands);
  uses.insert(kernel, ofParts);

  OpBuilder host(at);
  auto launch = mpcrt::LaunchOp::create(host, reduction.getLoc(), kernel.getSymName(),
                                        reduction.getCount(), reduction.getGrain(), operands);
  remark::passed(launch.getLoc(),
                 remark::RemarkOpts::name("merge-launches").category("mpc-kernels"))
      << ("@" + kernel.getSymName() + " for " + elementwise.getKernel() + " and " +
          reduction.getKernel())
             .str();
  uses.erase(elementwise);
  uses.erase(reduction);
  return launch;
}
