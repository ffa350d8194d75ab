// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each input is loaded as soon as the loops that it depends on have an index, so that what is the
// same for a whole inner loop is loaded once; no alias analysis could move it there later.
#include "lib/Conversion/LinalgToMpcrt/LoopEmitter.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mpc;

LoopEmitter::LoopEmitter(linalg::GenericOp op, ValueRange buffers, IRMapping captured)
    : op(op), buffers(buffers), captured(std::move(captured)), loopValues(op.getNumLoops()),
      loaded(op->getNumOperands()), rowOf(op->getNumOperands()) {}

void LoopEmitter::setRow(unsigned loops, const DenseMap<Value, Value> &indices) {
  rowLoops = loops;
  for (auto [operand, buffer] : llvm::enumerate(buffers))
    rowOf[operand] = indices.lookup(buffer);
}

bool LoopEmitter::isBound(AffineMap map) const {
  for (unsigned loop = 0; loop < loopValues.size(); ++loop)
    if (!loopValues[loop] && map.isFunctionOfDim(loop))
      return false;
  return true;
}

SmallVector<Value> LoopEmitter::indices(OpBuilder &builder, unsigned operand) {
  AffineMap map = op.getIndexingMapsArray()[operand];
  SmallVector<Value> dims(loopValues), result;
  for (Value &dim : dims)
    if (!dim) // not used by the map
      dim = arith::ConstantIndexOp::create(builder, op.getLoc(), 0);
  if (rowOf[operand])
    result.push_back(rowOf[operand]);
  for (AffineExpr expr : map.getResults().drop_front(rowOf[operand] ? rowLoops : 0))
    result.push_back(affine::expandAffineExpr(builder, op.getLoc(), expr, dims, {}));
  return result;
}

void LoopEmitter::loadInputs(OpBuilder &builder) {
  for (unsigned i = 0; i < op.getNumDpsInputs(); ++i) {
    AffineMap map = op.getIndexingMapsArray()[i];
    if (loaded[i] || !isBound(map) || op.getBody()->getArgument(i).use_empty())
      continue;
    if (!isa<MemRefType>(buffers[i].getType())) // a scalar operand
      loaded[i] = buffers[i];
    else
      loaded[i] = memref::LoadOp::create(builder, op.getLoc(), buffers[i], indices(builder, i));
  }
}

void LoopEmitter::bind(OpBuilder &builder, unsigned loop, Value value) {
  loopValues[loop] = value;
  loadInputs(builder);
}

SmallVector<Value> LoopEmitter::loadOutputs(OpBuilder &builder) {
  SmallVector<Value> values;
  unsigned inputs = op.getNumDpsInputs();
  for (unsigned i = inputs; i < buffers.size(); ++i) {
    if (op.getBody()->getArgument(i).use_empty())
      values.push_back(Value());
    else
      values.push_back(
          memref::LoadOp::create(builder, op.getLoc(), buffers[i], indices(builder, i)));
  }
  return values;
}

void LoopEmitter::storeOutputs(OpBuilder &builder, ValueRange values) {
  unsigned inputs = op.getNumDpsInputs();
  for (auto [i, value] : llvm::enumerate(values)) {
    memref::StoreOp::create(builder, op.getLoc(), value, buffers[inputs + i],
                            indices(builder, inputs + i));
  }
}

SmallVector<Value> LoopEmitter::body(OpBuilder &builder, ValueRange outputs) {
  IRMapping map = captured;
  unsigned inputs = op.getNumDpsInputs();
  for (unsigned i = 0; i < inputs; ++i)
    if (loaded[i])
      map.map(op.getBody()->getArgument(i), loaded[i]);
  for (auto [i, value] : llvm::enumerate(outputs))
    if (value)
      map.map(op.getBody()->getArgument(inputs + i), value);
  for (Operation &inner : op.getBody()->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner))
      map.map(index.getResult(), loopValues[index.getDim()]);
    else
      builder.clone(inner, map);
  }
  SmallVector<Value> results;
  for (Value value : op.getBody()->getTerminator()->getOperands())
    results.push_back(map.lookupOrDefault(value));
  return results;
}

SmallVector<Value> LoopEmitter::reduce(OpBuilder &builder, ArrayRef<LoopBounds> bounds,
                                       ValueRange accumulators) {
  if (bounds.empty())
    return body(builder, accumulators);
  Value step = bounds[0].step ? bounds[0].step
                              : arith::ConstantIndexOp::create(builder, op.getLoc(), 1).getResult();
  auto loop =
      scf::ForOp::create(builder, op.getLoc(), bounds[0].begin, bounds[0].end, step, accumulators);
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  SmallVector<Value> before(loaded);
  bind(inner, bounds[0].loop, loop.getInductionVar());
  SmallVector<Value> next = reduce(inner, bounds.drop_front(), loop.getRegionIterArgs());
  if (!accumulators.empty())
    scf::YieldOp::create(inner, op.getLoc(), next);
  loaded = before;
  loopValues[bounds[0].loop] = Value();
  return llvm::to_vector(ValueRange(loop.getResults()));
}

SmallVector<Value> LoopEmitter::reduceFlat(OpBuilder &builder, ArrayRef<unsigned> loops,
                                           ArrayRef<int64_t> extents, const FlatBounds &bounds,
                                           ValueRange accumulators) {
  Location loc = op.getLoc();
  auto loop = scf::ForOp::create(builder, loc, bounds.begin, bounds.end, bounds.step, accumulators);
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  SmallVector<Value> before(loaded);
  Value left = loop.getInductionVar();
  for (size_t i = loops.size(); i-- > 1;) {
    Value extent = arith::ConstantIndexOp::create(inner, loc, extents[i]);
    loopValues[loops[i]] = arith::RemUIOp::create(inner, loc, left, extent);
    left = arith::DivUIOp::create(inner, loc, left, extent);
  }
  bind(inner, loops[0], left);
  SmallVector<Value> next = body(inner, loop.getRegionIterArgs());
  if (!accumulators.empty())
    scf::YieldOp::create(inner, loc, next);
  loaded = before;
  for (unsigned index : loops)
    loopValues[index] = Value();
  return llvm::to_vector(ValueRange(loop.getResults()));
}

void LoopEmitter::emit(OpBuilder &builder, ArrayRef<LoopBounds> bounds, unsigned firstReduction,
                       bool innermostIndependent) {
  loadInputs(builder);
  if (bounds.empty()) {
    storeOutputs(builder, body(builder, loadOutputs(builder)));
    return;
  }
  if (firstReduction == 0) {
    SmallVector<Value> start = loadOutputs(builder);
    // An output whose old value the body ignores keeps the last iteration's: it needs some start.
    for (auto [i, value] : llvm::enumerate(start))
      if (!value) {
        unsigned operand = op.getNumDpsInputs() + i;
        value = memref::LoadOp::create(builder, op.getLoc(), buffers[operand],
                                       indices(builder, operand));
      }
    storeOutputs(builder, reduce(builder, bounds, start));
    return;
  }
  Value one = arith::ConstantIndexOp::create(builder, op.getLoc(), 1);
  auto loop = scf::ForOp::create(builder, op.getLoc(), bounds[0].begin, bounds[0].end, one);
  if (innermostIndependent && bounds.size() == 1)
    loop->setAttr(mpcrt::MpcrtDialect::kIndependentAttr, builder.getUnitAttr());
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  SmallVector<Value> before(loaded);
  bind(inner, bounds[0].loop, loop.getInductionVar());
  emit(inner, bounds.drop_front(), firstReduction - 1, innermostIndependent);
  loaded = before;
  loopValues[bounds[0].loop] = Value();
}
