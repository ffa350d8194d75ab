// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernel functions: arguments, iteration bounds, loops.
#include "lib/Conversion/LinalgToMpcrt/KernelOutliner.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Conversion/LinalgToMpcrt/CollapseLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/RegionUtils.h"
#include "mpc/Analysis/LayerPath.h"

using namespace mlir;
using namespace mpc;

/// Sums of at most this many numbers are one chunk.
static constexpr int64_t kSerialReduction = 4096;

/// Rows of one block of mpcrt.rows: as many as keep what its ops read and write, and its
/// temporaries, in the first-level cache.
static constexpr int64_t kBlockElements = 4096, kBlockBytes = 16384;

KernelOutliner::KernelOutliner(func::FuncOp entry, bool isOnDevice)
    : entry(entry), batch(getBatchArgument(entry)), isOnDevice(isOnDevice) {
  for (auto symbol : entry->getParentOfType<ModuleOp>().getOps<SymbolOpInterface>())
    names.insert(symbol.getName());
}

static std::string identifierOf(StringRef text) {
  std::string result;
  for (char c : text)
    result += llvm::isAlnum(c) ? c : '_';
  return result;
}

/// The values of an op as a kernel sees them.
static SmallVector<Value> buffersOf(linalg::GenericOp op, const IRMapping &inside) {
  return llvm::map_to_vector(op->getOperands(), [&](Value v) { return inside.lookup(v); });
}

KernelOutliner::Kernel KernelOutliner::createKernel(ArrayRef<linalg::GenericOp> ops,
                                                    ValueRange extras) {
  linalg::GenericOp first = ops.front();
  Location loc = first.getLoc();
  Kernel kernel{func::FuncOp(), OpBuilder(first.getContext()), {}, {}, {}, {}, {}, {}};
  llvm::SetVector<Value> arguments, constants;
  auto isConstant = [](Value value) {
    return value.getDefiningOp() && matchPattern(value, m_Constant());
  };
  auto need = [&](Value value) {
    // A temporary of mpcrt.rows is the kernel's own.
    auto alloca = value.getDefiningOp<memref::AllocaOp>();
    if (!alloca || !isa<mpcrt::RowsOp>(alloca->getParentOp()))
      (isConstant(value) ? constants : arguments).insert(value);
  };
  bool needsBatch = false;
  for (linalg::GenericOp op : ops)
    for (Value operand : op->getOperands()) {
      need(operand);
      auto shaped = dyn_cast<MemRefType>(operand.getType());
      needsBatch |= shaped && !shaped.hasStaticShape();
    }
  for (linalg::GenericOp op : ops) {
    llvm::SetVector<Value> outside;
    getUsedValuesDefinedAbove(op.getRegion(), outside);
    llvm::for_each(outside, need);
  }
  size_t named = arguments.size();
  kernel.arguments.assign(arguments.begin(), arguments.end());
  llvm::append_range(kernel.arguments, extras);
  if (needsBatch)
    kernel.arguments.push_back(batch);

  SmallVector<Type> types(ValueRange(kernel.arguments).getTypes());
  Type index = kernel.builder.getIndexType();
  types.append(2, index);
  std::string layer = layerPathOf(loc).str();
  std::string base =
      identifierOf("kernel_" + entry.getSymName().str() + (layer.empty() ? "" : "_" + layer));
  // A number tells apart kernels of one layer.
  std::string name = base;
  for (unsigned &number = lastNumbers[base]; !names.insert(name).second;)
    name = base + "_" + std::to_string(++number);
  kernel.builder.setInsertionPoint(entry);
  kernel.function =
      func::FuncOp::create(kernel.builder, loc, name, kernel.builder.getFunctionType(types, {}));
  kernel.function.setPrivate();
  kernel.function->setAttr(mpcrt::MpcrtDialect::kKernelAttr, kernel.builder.getUnitAttr());
  Block *block = kernel.function.addEntryBlock();
  kernel.builder.setInsertionPointToStart(block);
  auto inside = block->getArguments();
  for (Value value : constants)
    kernel.inside.map(value, kernel.builder.clone(*value.getDefiningOp())->getResult(0));
  for (size_t i = 0; i < named; ++i)
    kernel.inside.map(kernel.arguments[i], inside[i]);
  for (size_t i = 0; i < extras.size(); ++i)
    kernel.extras.push_back(inside[named + i]);
  kernel.end = inside.back();
  kernel.begin = inside.drop_back().back();
  kernel.batch = needsBatch ? Value(inside.drop_back(2).back()) : Value();
  return kernel;
}

void KernelOutliner::finish(Operation *op, Kernel &kernel, Value count, int64_t grain,
                            StringRef split) {
  func::ReturnOp::create(kernel.builder, op->getLoc());
  OpBuilder builder(op);
  mpcrt::LaunchOp::create(builder, op->getLoc(), kernel.function.getSymName(), count, grain,
                          kernel.arguments);
  remark::passed(op->getLoc(), remark::RemarkOpts::name("kernel").category("mpc-kernels"))
      << "@" << kernel.function.getSymName().str() << " split " << split.str() << " grain "
      << remark::metric("grain", grain);
  op->erase();
}

static Value constantIndex(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

/// Product of the extents of `loops` as an index.
static Value countOf(OpBuilder &builder, Location loc, const IterationSpace &space, Value batch) {
  Value count;
  for (unsigned loop : space.launched) {
    Value extent = materialize(builder, loc, space.extents[loop], batch);
    count = count ? Value(arith::MulIOp::create(builder, loc, count, extent)) : extent;
  }
  return count;
}

static SmallVector<LoopBounds> boundsOf(OpBuilder &builder, Location loc,
                                        const IterationSpace &space, Value batch) {
  SmallVector<LoopBounds> bounds;
  for (unsigned loop : space.inner)
    bounds.push_back({loop, arith::ConstantIndexOp::create(builder, loc, 0),
                      materialize(builder, loc, space.extents[loop], batch)});
  return bounds;
}

/// The launch's index as those of the loops that it counts.
static void bindLaunched(OpBuilder &builder, LoopEmitter &emitter, const IterationSpace &space,
                         Value index, Value batch, Location loc) {
  SmallVector<Value> values(space.launched.size());
  for (size_t i = space.launched.size(); i-- > 1;) {
    Value extent = materialize(builder, loc, space.extents[space.launched[i]], batch);
    values[i] = arith::RemUIOp::create(builder, loc, index, extent);
    index = arith::DivUIOp::create(builder, loc, index, extent);
  }
  values[0] = index;
  for (auto [launched, value] : llvm::zip_equal(space.launched, values))
    emitter.bind(builder, launched, value);
}

void KernelOutliner::emitInline(linalg::GenericOp op, const IterationSpace &space) {
  OpBuilder builder(op);
  LoopEmitter emitter(op, op->getOperands(), IRMapping());
  emitter.emit(builder, boundsOf(builder, op.getLoc(), space, batch), space.firstReduction, false);
  op.erase();
}

void KernelOutliner::emitLaunch(linalg::GenericOp op, const IterationSpace &space) {
  Kernel kernel = createKernel(op, {});
  OpBuilder &builder = kernel.builder;
  Location loc = op.getLoc();
  LoopEmitter emitter(op, buffersOf(op, kernel.inside), kernel.inside);
  SmallVector<LoopBounds> bounds = boundsOf(builder, loc, space, kernel.batch);
  unsigned firstReduction = space.firstReduction;
  if (space.launched.size() == 1) {
    LoopBounds launched{space.launched[0], kernel.begin, kernel.end};
    // A chunk of columns: all its rows, one after the other.
    if (space.split == Split::Columns && op.getNumParallelLoops() == 1)
      bounds.push_back(launched);
    else
      bounds.insert(bounds.begin(), launched);
    emitter.emit(builder, bounds, firstReduction + 1, space.innermostIndependent);
  } else if (readsTransposed(op, space)) {
    emitTransposedReads(kernel, emitter, loc, space);
  } else {
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    auto loop = scf::ForOp::create(builder, loc, kernel.begin, kernel.end, one);
    OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
    bindLaunched(inner, emitter, space, loop.getInductionVar(), kernel.batch, loc);
    emitter.emit(inner, bounds, firstReduction, space.innermostIndependent);
  }
  OpBuilder host(op);
  finish(op, kernel, countOf(host, loc, space, batch), space.grain, getSplitName(space.split));
}

static bool isSerial(const IterationSpace &space) {
  int64_t total = 1;
  bool fixed = true;
  for (BatchExtent extent : space.extents) {
    fixed &= extent.isFixed();
    total = std::min<int64_t>(total * std::max<int64_t>(1, extent.fixed), int64_t(1) << 40);
  }
  return fixed && total <= kSerialReduction;
}

/// The whole sum is one chunk.
void KernelOutliner::emitSerial(linalg::GenericOp op, const IterationSpace &space) {
  Location loc = op.getLoc();
  Kernel kernel = createKernel(op, {});
  LoopEmitter emitter(op, buffersOf(op, kernel.inside), kernel.inside);
  emitter.emit(kernel.builder, boundsOf(kernel.builder, loc, space, kernel.batch), 0, false);
  OpBuilder host(op);
  finish(op, kernel, arith::ConstantIndexOp::create(host, loc, 1), 1, getSplitName(space.split));
}

/// Each iteration of the launch sums a block of the outermost loop.
void KernelOutliner::sumBlocks(Kernel &kernel, linalg::GenericOp op, const IterationSpace &space,
                               ArrayRef<Combiner> combiners) {
  Location loc = op.getLoc();
  OpBuilder &builder = kernel.builder;
  SmallVector<LoopBounds> bounds = boundsOf(builder, loc, space, kernel.batch);
  Value extent = bounds[0].end;
  Value per =
      arith::CeilDivUIOp::create(builder, loc, extent, constantIndex(builder, loc, kBlocks));
  auto loop =
      scf::ForOp::create(builder, loc, kernel.begin, kernel.end, constantIndex(builder, loc, 1));
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  Value first = arith::MulIOp::create(inner, loc, loop.getInductionVar(), per);
  bounds[0].begin = arith::MinUIOp::create(inner, loc, first, extent);
  bounds[0].end =
      arith::MinUIOp::create(inner, loc, arith::AddIOp::create(inner, loc, first, per), extent);
  SmallVector<Value> accumulators;
  for (const Combiner &combiner : combiners)
    accumulators.push_back(arith::ConstantOp::create(inner, loc, combiner.second));
  LoopEmitter emitter(op, buffersOf(op, kernel.inside), kernel.inside);
  emitter.prepare(inner);
  for (auto [value, partial] :
       llvm::zip_equal(emitter.reduce(inner, bounds, accumulators), kernel.extras))
    memref::StoreOp::create(inner, loc, value, partial, loop.getInductionVar());
}

/// In the host function, behind `op`: adds the partial results to its outputs in order.
static void combineBlocks(linalg::GenericOp op, ArrayRef<Combiner> combiners, ValueRange partials) {
  Location loc = op.getLoc();
  OpBuilder after(op->getContext());
  after.setInsertionPointAfter(op);
  SmallVector<Value> values;
  SmallVector<SmallVector<Value>> indicesOfOutputs;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    SmallVector<Value> indices;
    for (AffineExpr expr : op.getMatchingIndexingMap(&init).getResults())
      indices.push_back(constantIndex(
          after, loc,
          isa<AffineConstantExpr>(expr) ? cast<AffineConstantExpr>(expr).getValue() : 0));
    values.push_back(memref::LoadOp::create(after, loc, init.get(), indices));
    indicesOfOutputs.push_back(indices);
  }
  auto combine =
      scf::ForOp::create(after, loc, constantIndex(after, loc, 0),
                         constantIndex(after, loc, kBlocks), constantIndex(after, loc, 1), values);
  OpBuilder body = OpBuilder::atBlockBegin(combine.getBody());
  SmallVector<Value> next;
  for (auto [i, combiner] : llvm::enumerate(combiners)) {
    Value partial = memref::LoadOp::create(body, loc, partials[i], combine.getInductionVar());
    Operation *clone = combiner.first->clone();
    clone->setOperands({combine.getRegionIterArg(i), partial});
    body.insert(clone);
    next.push_back(clone->getResult(0));
  }
  scf::YieldOp::create(body, loc, next);
  for (auto [value, output, indices] :
       llvm::zip_equal(combine.getResults(), op.getDpsInits(), indicesOfOutputs))
    memref::StoreOp::create(after, loc, value, output, indices);
}

LogicalResult KernelOutliner::emitBlocks(linalg::GenericOp op, const IterationSpace &space) {
  SmallVector<Combiner> combiners = combinersOf(op);
  if (combiners.size() != op.getDpsInits().size() || isSerial(space)) {
    emitSerial(op, space);
    return success();
  }
  Location loc = op.getLoc();
  OpBuilder start = OpBuilder::atBlockBegin(&entry.getBody().front());
  SmallVector<Value> partials;
  for (const Combiner &combiner : combiners)
    partials.push_back(memref::AllocaOp::create(
        start, loc, MemRefType::get({kBlocks}, combiner.first->getResult(0).getType())));
  Kernel kernel = createKernel(op, partials);
  sumBlocks(kernel, op, space, combiners);
  combineBlocks(op, combiners, partials);
  OpBuilder host(op);
  finish(op, kernel, constantIndex(host, loc, kBlocks), kBlocksGrain, getSplitName(space.split));
  return success();
}

/// The values of an op of a group as a kernel sees them. What has the group's `loops` as its first
/// dimensions has one in their place: an address is then no quotient.
static SmallVector<Value> buffersInRows(linalg::GenericOp op, unsigned loops,
                                        const IRMapping &inside, const DenseSet<Value> &local,
                                        DenseMap<Value, Value> &flat) {
  SmallVector<Value> buffers = buffersOf(op, inside);
  const AffineMap counted =
      AffineMap::getMultiDimIdentityMap(op.getNumLoops(), op.getContext()).getMajorSubMap(loops);
  for (auto [operand, buffer] : llvm::zip_equal(op->getOpOperands(), buffers)) {
    auto type = dyn_cast<MemRefType>(buffer.getType());
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (!type || loops < 2 || local.contains(buffer) || !type.getLayout().isIdentity() ||
        map.getNumResults() < loops || map.getMajorSubMap(loops) != counted)
      continue;
    Value &view = flat[buffer];
    if (!view) {
      SmallVector<ReassociationIndices> groups(1 + type.getRank() - loops);
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        groups[std::max<int64_t>(0, 1 + dim - loops)].push_back(dim);
      OpBuilder start(op.getContext());
      start.setInsertionPointAfterValue(buffer);
      view = memref::CollapseShapeOp::create(start, op.getLoc(), buffer, groups);
    }
    buffer = view;
  }
  return buffers;
}

LogicalResult KernelOutliner::outline(mpcrt::RowsOp rows) {
  SmallVector<linalg::GenericOp> ops(rows.getBody().getOps<linalg::GenericOp>());
  SmallVector<memref::AllocaOp> temporaries(rows.getBody().getOps<memref::AllocaOp>());
  SmallVector<IterationSpace> spaces;
  int64_t workPerRow = 0, elements = 1, localBytes = 1;
  for (linalg::GenericOp op : ops) {
    auto space = analyzeRows(op, rows.getLoops());
    if (failed(space))
      return failure();
    int64_t inner = 1;
    for (unsigned loop : space->inner)
      inner *= std::max<int64_t>(1, space->extents[loop].fixed);
    elements = std::max(elements, inner);
    workPerRow += inner * std::max<int64_t>(1, op.getBody()->getOperations().size());
    spaces.push_back(*space);
  }
  auto restOf = [&](memref::AllocaOp alloca) {
    return alloca.getType().getShape().drop_front(rows.getLoops());
  };
  for (memref::AllocaOp alloca : temporaries)
    localBytes += ShapedType::getNumElements(restOf(alloca)) *
                  llvm::divideCeil(alloca.getType().getElementTypeBitWidth(), 8);
  int64_t block =
      isOnDevice
          ? 1
          : std::max<int64_t>(1, std::min(kBlockElements / elements, kBlockBytes / localBytes));

  Location loc = rows.getLoc();
  Kernel kernel = createKernel(ops, {});
  OpBuilder &builder = kernel.builder;
  DenseSet<Value> local;
  for (memref::AllocaOp alloca : temporaries) {
    SmallVector<int64_t> shape{block};
    llvm::append_range(shape, restOf(alloca));
    Value own = memref::AllocaOp::create(builder, loc,
                                         MemRefType::get(shape, alloca.getType().getElementType()),
                                         builder.getI64IntegerAttr(64));
    kernel.inside.map(alloca.getResult(), own);
    local.insert(own);
  }
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value size = arith::ConstantIndexOp::create(builder, loc, block);
  auto blocks = scf::ForOp::create(builder, loc, kernel.begin, kernel.end, size);
  OpBuilder inBlock = OpBuilder::atBlockBegin(blocks.getBody());
  Value first = blocks.getInductionVar();
  Value last = arith::MinUIOp::create(inBlock, loc,
                                      arith::AddIOp::create(inBlock, loc, first, size), kernel.end);
  DenseMap<Value, Value> flat;
  for (auto [op, space] : llvm::zip_equal(ops, spaces)) {
    const SmallVector<Value> buffers =
        isOnDevice ? buffersOf(op, kernel.inside)
                   : buffersInRows(op, rows.getLoops(), kernel.inside, local, flat);
    LoopEmitter emitter(op, buffers, kernel.inside);
    SmallVector<LoopBounds> bounds = boundsOf(inBlock, op.getLoc(), space, kernel.batch);
    auto loop = scf::ForOp::create(inBlock, op.getLoc(), first, last, one);
    if (bounds.empty() && space.innermostIndependent)
      loop->setAttr(mpcrt::MpcrtDialect::kIndependentAttr, builder.getUnitAttr());
    OpBuilder inRow = OpBuilder::atBlockBegin(loop.getBody());
    Value row = arith::SubIOp::create(inRow, op.getLoc(), loop.getInductionVar(), first);
    DenseMap<Value, Value> indices;
    for (Value buffer : local)
      indices[buffer] = row;
    for (auto [buffer, view] : flat)
      indices[view] = loop.getInductionVar();
    emitter.setRow(rows.getLoops(), indices);
    bindLaunched(inRow, emitter, space, loop.getInductionVar(), kernel.batch, op.getLoc());
    emitter.emit(inRow, bounds, space.firstReduction, space.innermostIndependent);
  }
  OpBuilder host(rows);
  Value count = countOf(host, loc, spaces.front(), batch);
  int64_t grain = std::max<int64_t>(1, kGrainOperations / std::max<int64_t>(1, workPerRow));
  finish(rows, kernel, count, grain, "rows of " + std::to_string(ops.size()) + " ops");
  return success();
}

linalg::GenericOp KernelOutliner::flatten(linalg::GenericOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  AffineMap identity = builder.getMultiDimIdentityMap(1);
  AffineMap nowhere = AffineMap::get(1, 0, {}, builder.getContext());
  SmallVector<AffineMap> maps;
  auto flat = [&](OpOperand &operand) -> Value {
    Value buffer = operand.get();
    auto type = dyn_cast<MemRefType>(buffer.getType());
    if (!type) {
      maps.push_back(nowhere);
      return buffer;
    }
    if (!op.getMatchingIndexingMap(&operand).isIdentity()) {
      // One element at a constant index, at most an extent of 1 everywhere.
      SmallVector<int64_t> dims(type.getRank());
      maps.push_back(AffineMap::get(1, 0, op.getMatchingIndexingMap(&operand).getResults(),
                                    builder.getContext()));
      return buffer;
    }
    maps.push_back(identity);
    if (type.getRank() > 1) {
      ReassociationIndices all(type.getRank());
      std::iota(all.begin(), all.end(), 0);
      buffer = memref::CollapseShapeOp::create(builder, loc, buffer,
                                               ArrayRef<ReassociationIndices>{all});
    }
    // Kernels for all sizes are one kernel.
    auto dynamic = MemRefType::get({ShapedType::kDynamic}, type.getElementType());
    return buffer.getType() == dynamic
               ? buffer
               : memref::CastOp::create(builder, loc, dynamic, buffer).getResult();
  };
  SmallVector<Value> inputs, outputs;
  for (OpOperand *operand : op.getDpsInputOperands())
    inputs.push_back(flat(*operand));
  for (OpOperand &operand : op.getDpsInitsMutable())
    outputs.push_back(flat(operand));
  auto result = linalg::GenericOp::create(builder, loc, TypeRange(), inputs, outputs, maps,
                                          {op.getIteratorTypesArray().front()});
  result.getRegion().takeBody(op.getRegion());
  op.erase();
  return result;
}

LogicalResult KernelOutliner::outline(linalg::GenericOp op) {
  if (!isOnDevice)
    op = dropUnitLoops(op);
  auto space = analyzeIterationSpace(op, isOnDevice);
  if (failed(space))
    return failure();
  bool collapsible =
      op.getNumLoops() >= 1 && !op.hasIndexSemantics() &&
      llvm::all_of(op->getOpOperands(), [&](OpOperand &o) { return isFlatOperand(op, o); });
  bool hasWhole = llvm::any_of(op->getOpOperands(), [&](OpOperand &o) {
    return isa<MemRefType>(o.get().getType()) && op.getMatchingIndexingMap(&o).isIdentity();
  });
  bool isScalarSum =
      space->split == Split::Blocks || (space->split == Split::Parts && space->launched.empty());
  if ((space->split == Split::Flat || isScalarSum) && collapsible && hasWhole) {
    op = flatten(op);
    Split split = space->split;
    int64_t grain = space->grain;
    space = analyzeIterationSpace(op, isOnDevice);
    if (failed(space))
      return failure();
    if (split == Split::Flat)
      space->grain = grain;
  }
  // Columns are the innermost loop of both: the order of what is added stays.
  const bool sumsColumns = space->split == Split::Columns && !isOnDevice;
  if ((space->split == Split::Parts || sumsColumns) && space->inner.size() > 1) {
    op = collapseSums(op);
    space = analyzeIterationSpace(op, isOnDevice);
    if (failed(space))
      return failure();
  }
  if (!isOnDevice && (space->split == Split::Rows || space->split == Split::Columns) &&
      space->launched.size() > 1) {
    op = collapseLaunched(op, space->launched);
    space = analyzeIterationSpace(op, isOnDevice);
    if (failed(space))
      return failure();
  }
  switch (space->split) {
  case Split::Inline:
    emitInline(op, *space);
    return success();
  case Split::ColumnBlocks:
    return emitColumnBlocks(op, *space);
  case Split::Blocks:
    return emitBlocks(op, *space);
  case Split::Parts:
    return emitParts(op, *space);
  default:
    emitLaunch(op, *space);
    return success();
  }
}
