// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums that threads share: on a GPU many, on a CPU those of few columns. The split does not depend
// on the grid or on the number of threads, so that results do not either.
#include "lib/Conversion/LinalgToMpcrt/KernelOutliner.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mpc;

SmallVector<Combiner> mpc::combinersOf(linalg::GenericOp op) {
  SmallVector<Combiner> combiners;
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i) {
    SmallVector<Operation *> chain;
    if (!matchReduction(op.getRegionOutputArgs(), i, chain) || chain.size() != 1)
      return {};
    auto identity = arith::getNeutralElement(chain[0]);
    if (!identity)
      return {};
    combiners.push_back({chain[0], *identity});
  }
  return combiners;
}

/// outputs[d...] = combine(outputs[d...], partials[r, d...]) over r, after `op`.
static linalg::GenericOp combineParts(linalg::GenericOp op, const IterationSpace &space,
                                      ArrayRef<Combiner> combiners, ValueRange partials) {
  OpBuilder builder(op.getContext());
  builder.setInsertionPointAfter(op);
  unsigned sums = space.launched.size();
  SmallVector<AffineExpr> indices{builder.getAffineDimExpr(sums)};
  SmallVector<AffineExpr> dims(op.getNumLoops(), builder.getAffineConstantExpr(0));
  for (auto [i, loop] : llvm::enumerate(space.launched)) {
    indices.push_back(builder.getAffineDimExpr(i));
    dims[loop] = builder.getAffineDimExpr(i);
  }
  SmallVector<AffineMap> maps(partials.size(),
                              AffineMap::get(sums + 1, 0, indices, builder.getContext()));
  for (OpOperand &init : op.getDpsInitsMutable())
    maps.push_back(op.getMatchingIndexingMap(&init).replaceDimsAndSymbols(dims, {}, sums + 1, 0));
  SmallVector<utils::IteratorType> iterators(sums, utils::IteratorType::parallel);
  iterators.push_back(utils::IteratorType::reduction);
  return linalg::GenericOp::create(
      builder, op.getLoc(), TypeRange(), partials, op.getDpsInits(), maps, iterators,
      [&](OpBuilder &b, Location loc, ValueRange arguments) {
        SmallVector<Value> results;
        for (auto [i, combiner] : llvm::enumerate(combiners)) {
          Operation *clone = combiner.first->clone();
          clone->setOperands({arguments[combiners.size() + i], arguments[i]});
          b.insert(clone);
          results.push_back(clone->getResult(0));
        }
        linalg::YieldOp::create(b, loc, results);
      });
}

/// Memory for a result per part and element of the launched loops, for each combiner.
static SmallVector<Value> allocatePartials(func::FuncOp entry, linalg::GenericOp op,
                                           const IterationSpace &space,
                                           ArrayRef<Combiner> combiners) {
  SmallVector<int64_t> shape{space.parts};
  for (unsigned loop : space.launched)
    shape.push_back(space.extents[loop].fixed);
  OpBuilder start = OpBuilder::atBlockBegin(&entry.getBody().front());
  return llvm::map_to_vector(combiners, [&](const Combiner &combiner) -> Value {
    return memref::AllocaOp::create(start, op.getLoc(),
                                    MemRefType::get(shape, combiner.first->getResult(0).getType()));
  });
}

/// How many numbers each element sums; none if an index does not count them.
static std::optional<BatchExtent> countSummed(const IterationSpace &space) {
  std::optional<BatchExtent> count = BatchExtent{1, 0};
  for (unsigned loop : space.inner)
    if (count)
      count = *count * space.extents[loop];
  return count;
}

LogicalResult KernelOutliner::emitParts(linalg::GenericOp op, IterationSpace space) {
  auto combiners = combinersOf(op);
  if (combiners.empty()) {
    space.split = space.launched.empty() ? Split::Blocks : Split::Rows;
    if (space.launched.empty())
      return emitBlocks(op, space);
    emitLaunch(op, space);
    return success();
  }
  // All combinations of indices are shared. Only of the first loop the extent may depend on the
  // batch: indices are remainders of constants.
  llvm::sort(space.inner, [&](unsigned a, unsigned b) {
    return std::pair(space.extents[a].isFixed(), a) < std::pair(space.extents[b].isFixed(), b);
  });
  const auto iterations = countSummed(space);
  if (!iterations)
    return op.emitOpError() << "sums more numbers than an index counts";
  SmallVector<Value> partials = allocatePartials(entry, op, space, combiners);
  linalg::GenericOp combine = combineParts(op, space, combiners, partials);
  emitPartialSums(op, space, combiners, partials, *iterations);
  return outline(combine);
}

void KernelOutliner::emitPartialSums(linalg::GenericOp op, const IterationSpace &space,
                                     ArrayRef<Combiner> combiners, ArrayRef<Value> partials,
                                     const BatchExtent &iterations) {
  Location loc = op.getLoc();
  Kernel kernel = createKernel(op, partials);
  OpBuilder &builder = kernel.builder;
  auto constant = [&](OpBuilder &b, int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  auto extents =
      llvm::map_to_vector(space.inner, [&](unsigned loop) { return space.extents[loop].fixed; });
  FlatBounds bounds;
  bounds.end = materialize(builder, loc, iterations, kernel.batch);
  auto loop = scf::ForOp::create(builder, loc, kernel.begin, kernel.end, constant(builder, 1));
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  // Neighbours have neighbouring sums, and neighbouring numbers when there is one sum.
  Value part = loop.getInductionVar();
  SmallVector<Value> indices(space.launched.size());
  for (size_t i = indices.size(); i-- > 0;) {
    Value extent = constant(inner, space.extents[space.launched[i]].fixed);
    indices[i] = arith::RemUIOp::create(inner, loc, part, extent);
    part = arith::DivUIOp::create(inner, loc, part, extent);
  }
  indices.insert(indices.begin(), part);
  bounds.begin = part;
  bounds.step = constant(inner, space.parts);
  SmallVector<Value> operands, accumulators;
  for (Value operand : op->getOperands())
    operands.push_back(kernel.inside.lookup(operand));
  for (auto &combiner : combiners)
    accumulators.push_back(arith::ConstantOp::create(inner, loc, combiner.second));
  LoopEmitter emitter(op, operands, kernel.inside);
  emitter.prepare(inner);
  for (auto [launched, value] : llvm::zip_equal(space.launched, ArrayRef(indices).drop_front()))
    emitter.bind(inner, launched, value);
  for (auto [value, partial] : llvm::zip_equal(
           emitter.reduceFlat(inner, space.inner, extents, bounds, accumulators), kernel.extras))
    memref::StoreOp::create(inner, loc, value, partial, indices);

  int64_t count = space.parts;
  for (unsigned launched : space.launched)
    count *= space.extents[launched].fixed;
  OpBuilder host(op);
  finish(op, kernel, constant(host, count), 1, getSplitName(space.split));
}

LogicalResult KernelOutliner::emitColumnBlocks(linalg::GenericOp op, IterationSpace space) {
  auto combiners = combinersOf(op);
  if (combiners.empty()) {
    space.split = Split::Columns;
    space.grain = space.extents[space.launched[0]].fixed;
    emitLaunch(op, space);
    return success();
  }
  Location loc = op.getLoc();
  const int64_t columns = space.extents[space.launched[0]].fixed;
  OpBuilder start = OpBuilder::atBlockBegin(&entry.getBody().front());
  SmallVector<Value> partials;
  for (auto &combiner : combiners)
    partials.push_back(memref::AllocaOp::create(
        start, loc, MemRefType::get({kBlocks, columns}, combiner.first->getResult(0).getType())));

  Kernel kernel = createKernel(op, partials);
  OpBuilder &builder = kernel.builder;
  auto constant = [&](OpBuilder &b, int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  // The outermost loop is the one to share.
  SmallVector<LoopBounds> bounds;
  for (unsigned loop : space.inner)
    bounds.push_back(
        {loop, constant(builder, 0), materialize(builder, loc, space.extents[loop], kernel.batch)});
  Value extent = bounds[0].end;
  Value per = arith::CeilDivUIOp::create(builder, loc, extent, constant(builder, kBlocks));
  auto loop = scf::ForOp::create(builder, loc, kernel.begin, kernel.end, constant(builder, 1));
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  Value block = loop.getInductionVar();
  Value first = arith::MulIOp::create(inner, loc, block, per);
  bounds[0].begin = arith::MinUIOp::create(inner, loc, first, extent);
  bounds[0].end =
      arith::MinUIOp::create(inner, loc, arith::AddIOp::create(inner, loc, first, per), extent);
  bounds.push_back({space.launched[0], constant(inner, 0), constant(inner, columns)});

  SmallVector<Value> operands;
  for (Value input : op.getDpsInputs())
    operands.push_back(kernel.inside.lookup(input));
  auto fill = scf::ForOp::create(inner, loc, constant(inner, 0), constant(inner, columns),
                                 constant(inner, 1));
  fill->setAttr(mpcrt::MpcrtDialect::kIndependentAttr, inner.getUnitAttr());
  OpBuilder inFill = OpBuilder::atBlockBegin(fill.getBody());
  for (auto [combiner, partial] : llvm::zip_equal(combiners, kernel.extras)) {
    memref::StoreOp::create(inFill, loc, arith::ConstantOp::create(inFill, loc, combiner.second),
                            partial, ValueRange{block, fill.getInductionVar()});
    SmallVector<OpFoldResult> offsets{block, inner.getIndexAttr(0)};
    SmallVector<OpFoldResult> sizes{inner.getIndexAttr(1), inner.getIndexAttr(columns)};
    SmallVector<OpFoldResult> strides(2, inner.getIndexAttr(1));
    auto type = cast<MemRefType>(memref::SubViewOp::inferRankReducedResultType(
        {columns}, cast<MemRefType>(partial.getType()), offsets, sizes, strides));
    operands.push_back(
        memref::SubViewOp::create(inner, loc, type, partial, offsets, sizes, strides));
  }
  LoopEmitter emitter(op, operands, kernel.inside);
  emitter.emit(inner, bounds, bounds.size(), /*innermostIndependent=*/true);

  linalg::GenericOp combine = combineParts(op, space, combiners, partials);
  OpBuilder host(op);
  finish(op, kernel, constant(host, kBlocks), kBlocksGrain, getSplitName(space.split));
  return outline(combine);
}
