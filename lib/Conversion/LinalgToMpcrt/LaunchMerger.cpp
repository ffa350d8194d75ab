// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One kernel has the bodies of two, iteration by iteration. What one writes and the other one reads
// is then the iteration's own, whichever device runs it.
#include "lib/Conversion/LinalgToMpcrt/LaunchMerger.h"
#include "dialects/mpcrt/IR/Turn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mpc/Analysis/BatchExtent.h"
#include "mpc/Analysis/ReshapedBuffer.h"
#include "mpc/Analysis/TurnedPlace.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mpc;

static Value bufferOf(Operation *access) {
  if (auto load = dyn_cast<memref::LoadOp>(access))
    return load.getMemRef();
  auto store = dyn_cast<memref::StoreOp>(access);
  return store ? store.getMemRef() : Value();
}

static ValueRange indicesOf(Operation *access) {
  if (auto load = dyn_cast<memref::LoadOp>(access))
    return load.getIndices();
  return cast<memref::StoreOp>(access).getIndices();
}

static bool isStoredTo(Value argument) {
  return llvm::any_of(argument.getUsers(),
                      [](Operation *user) { return isa<memref::StoreOp>(user); });
}

/// Whether each iteration touches its own element of the argument alone.
static bool touchesOwnElement(Value argument, scf::ForOp loop) {
  auto type = cast<MemRefType>(argument.getType());
  return llvm::all_of(argument.getUsers(), [&](Operation *user) {
    return user->getBlock() == loop.getBody() && bufferOf(user) == argument &&
           isPlaceOf(indicesOf(user), type.getShape(), loop.getInductionVar());
  });
}

/// Whether each iteration stores its own element of the argument alone, turned.
static bool isTurned(Value argument, scf::ForOp loop) {
  auto store = dyn_cast<memref::StoreOp>(*argument.user_begin());
  return store && findTurnedPlace(store, loop.getInductionVar());
}

namespace {
/// All rows, and some columns, of a matrix.
struct Slice {
  Value whole;
  int64_t first, width;
};
} // namespace

static std::optional<Slice> sliceOf(Value buffer) {
  auto view = buffer.getDefiningOp<memref::SubViewOp>();
  if (!view || view.getSourceType().getRank() != 2 || view.getType().getRank() != 2 ||
      !view.getSourceType().getLayout().isIdentity() || !view.hasUnitStride())
    return std::nullopt;
  auto row = getConstantIntValue(view.getMixedOffsets()[0]),
       first = getConstantIntValue(view.getMixedOffsets()[1]),
       width = getConstantIntValue(view.getMixedSizes()[1]);
  if (row != 0 || !first || !width)
    return std::nullopt;
  return Slice{view.getSource(), *first, *width};
}

static bool areDisjointSlices(Value a, Value b) {
  auto first = sliceOf(a), second = sliceOf(b);
  return first && second && first->whole == second->whole &&
         (first->first + first->width <= second->first ||
          second->first + second->width <= first->first);
}

/// The rows of a launch with an iteration for each of so many columns.
static Value rowsOf(Value count, int64_t columns) {
  auto product = count.getDefiningOp<arith::MulIOp>();
  if (product && getConstantIntValue(product.getRhs()) == columns)
    return product.getLhs();
  return product && getConstantIntValue(product.getLhs()) == columns ? product.getRhs() : Value();
}

std::optional<LaunchMerger::Straight> LaunchMerger::straightOf(mpcrt::LaunchOp launch,
                                                               bool readsBefore) const {
  func::FuncOp kernel = uses.kernelOf(launch);
  scf::ForOp loop = !kernel       ? nullptr
                    : readsBefore ? findElementLoop(kernel)
                                  : findStraightLoop(kernel);
  if (!loop)
    return std::nullopt;
  for (BlockArgument argument : kernel.getArguments())
    if (isa<MemRefType>(argument.getType()) &&
        llvm::any_of(argument.getUsers(), [&](Operation *user) {
          const bool isBefore = user->getBlock() == loop->getBlock() && readsBefore;
          return (user->getBlock() != loop.getBody() && !isBefore) || bufferOf(user) != argument;
        }))
      return std::nullopt;
  return Straight{launch, kernel, loop};
}

/// The kernel's arguments that are buffers which it touches.
static SmallVector<BlockArgument> buffersOf(func::FuncOp kernel) {
  SmallVector<BlockArgument> buffers;
  for (BlockArgument argument : kernel.getArguments())
    if (isa<MemRefType>(argument.getType()) && !argument.use_empty())
      buffers.push_back(argument);
  return buffers;
}

static bool areEqual(Value count, Value other) {
  if (count == other)
    return true;
  const auto first = evaluateIndex(count), second = evaluateIndex(other);
  return first && second && *first == *second;
}

bool LaunchMerger::areElementwise(const Straight &first, const Straight &second) const {
  if (!areEqual(first.count(), second.count()))
    return false;
  for (BlockArgument a : buffersOf(first.kernel))
    for (BlockArgument b : buffersOf(second.kernel)) {
      // The whole of a buffer may come in two shapes.
      Value x = skipBufferReshapes(first.operandOf(a)), y = skipBufferReshapes(second.operandOf(b));
      if (!(isStoredTo(a) || isStoredTo(b)) || !mayOverlap(x, y) || areDisjointSlices(x, y))
        continue;
      if (x != y || !touchesOwnElement(a, first.loop) || !touchesOwnElement(b, second.loop))
        return false;
    }
  return true;
}

bool LaunchMerger::touchOthers(const Straight &a, const Straight &b, Value but) const {
  for (BlockArgument x : buffersOf(a.kernel))
    for (BlockArgument y : buffersOf(b.kernel)) {
      Value first = a.operandOf(x), second = b.operandOf(y);
      if (baseOf(first) == baseOf(but) && baseOf(second) == baseOf(but))
        continue;
      if ((isStoredTo(x) || isStoredTo(y)) && mayOverlap(first, second))
        return true;
    }
  return false;
}

/// Whether the loop uses its index for nothing but the row and the column of a matrix with so many
/// columns.
static bool hasPlacesAlone(scf::ForOp loop, int64_t columns) {
  return llvm::all_of(loop.getInductionVar().getUsers(), [&](Operation *user) {
    return isa<arith::RemUIOp, arith::DivUIOp>(user) &&
           user->getOperand(0) == loop.getInductionVar() &&
           getConstantIntValue(user->getOperand(1)) == columns;
  });
}

static bool hasOneStore(scf::ForOp loop) {
  return llvm::count_if(*loop.getBody(), [](Operation &op) { return isa<memref::StoreOp>(op); }) ==
         1;
}

BlockArgument LaunchMerger::findSliced(const Straight &whole, const Straight &sliced,
                                       bool isFilled) const {
  for (BlockArgument argument : buffersOf(whole.kernel)) {
    Value matrix = whole.operandOf(argument);
    auto type = cast<MemRefType>(argument.getType());
    if (isStoredTo(argument) != isFilled || type.getRank() != 2 || !type.getLayout().isIdentity() ||
        ShapedType::isDynamic(type.getDimSize(1)) || !touchesOwnElement(argument, whole.loop))
      continue;
    const int64_t columns = type.getDimSize(1);
    Value rows = rowsOf(whole.count(), columns);
    // Nobody else may know a temporary that is only filled.
    bool matches = rows && hasPlacesAlone(whole.loop, columns) &&
                   !touchOthers(whole, sliced, matrix) &&
                   (!isFilled || (hasOneStore(whole.loop) && argument.hasOneUse() &&
                                  isOnlySlicedBy(matrix, whole, sliced)));
    SmallVector<Value> slices;
    int64_t covered = 0;
    for (BlockArgument other : buffersOf(sliced.kernel)) {
      Value buffer = sliced.operandOf(other);
      if (!matches || baseOf(buffer) != baseOf(matrix))
        continue;
      auto slice = sliceOf(buffer);
      matches = slice && slice->whole == matrix && isStoredTo(other) != isFilled &&
                llvm::all_of(
                    slices,
                    [&](Value before) { return isFilled || areDisjointSlices(before, buffer); }) &&
                other.hasOneUse() && touchesOwnElement(other, sliced.loop) &&
                rowsOf(sliced.count(), slice->width) == rows;
      covered += slice ? slice->width : 0;
      slices.push_back(buffer);
    }
    if (matches && (isFilled ? covered > 0 : covered == columns))
      return argument;
  }
  return nullptr;
}

bool LaunchMerger::isOnlySlicedBy(Value matrix, const Straight &filler,
                                  const Straight &reader) const {
  if (!matrix.getDefiningOp<mpcrt::ViewOp>())
    return false;
  return llvm::all_of(matrix.getUsers(), [&](Operation *user) {
    return user == filler.launch ||
           (isa<memref::SubViewOp>(user) && llvm::all_of(user->getUsers(), [&](Operation *reading) {
              return reading == reader.launch;
            }));
  });
}

namespace {
/// The kernel that has the bodies of two.
class MergedKernel {
public:
  MergedKernel(func::FuncOp first, ValueRange firstOperands, func::FuncOp second,
               ValueRange secondOperands) {
    SmallVector<Value> all(firstOperands);
    llvm::append_range(all, secondOperands);
    for (Value operand : all)
      operands.insert(operand);
    OpBuilder builder(first.getContext());
    SmallVector<Type> types(ValueRange(operands.getArrayRef()).getTypes());
    types.append(2, builder.getIndexType());
    kernel = func::FuncOp::create(first.getLoc(), (second.getSymName() + "_merged").str(),
                                  builder.getFunctionType(types, {}));
    kernel.setPrivate();
    kernel->setAttr(mpcrt::MpcrtDialect::kKernelAttr, builder.getUnitAttr());
    Block *block = kernel.addEntryBlock();
    builder.setInsertionPointToStart(block);
    Value end = block->getArguments().back(), begin = block->getArguments().drop_back().back();
    map(builder, first, firstOperands, firstMapping);
    map(builder, second, secondOperands, secondMapping);
    Value one = arith::ConstantIndexOp::create(builder, first.getLoc(), 1);
    loop = scf::ForOp::create(builder, first.getLoc(), begin, end, one);
    func::ReturnOp::create(builder, first.getLoc());
  }

  /// Arguments that nothing uses any more go.
  void prune() {
    for (size_t i = operands.size(); i-- > 0;)
      if (kernel.getArgument(i).use_empty()) {
        (void)kernel.eraseArgument(i);
        operands.remove(operands[i]);
      }
  }

  /// The buffer that the launch passes for the argument.
  Value bufferOf(Value argument) const {
    return skipBufferReshapes(operands[cast<BlockArgument>(argument).getArgNumber()]);
  }

  func::FuncOp kernel;
  scf::ForOp loop;
  llvm::SetVector<Value> operands;
  IRMapping firstMapping, secondMapping;

private:
  /// The arguments, and what stands before the loop.
  void map(OpBuilder &builder, func::FuncOp from, ValueRange given, IRMapping &mapping) {
    Block &body = from.getBody().front();
    for (auto [argument, operand] : llvm::zip(body.getArguments(), given)) {
      const auto *place = llvm::find(operands, operand);
      mapping.map(argument, kernel.getArgument(std::distance(operands.begin(), place)));
    }
    for (Operation &op : body.without_terminator())
      if (!isa<scf::ForOp>(op))
        builder.clone(op, mapping);
  }
};
} // namespace

/// Writes the loop's body for the element (row, column) of a matrix. `value`, if there is one, is
/// what loads of `argument` read; what is stored to `argument` is returned instead.
static Value emitAt(OpBuilder &builder, scf::ForOp loop, IRMapping mapping, BlockArgument argument,
                    Value row, Value column, Value value) {
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (isa<arith::RemUIOp, arith::DivUIOp>(op) && op.getOperand(0) == loop.getInductionVar()) {
      mapping.map(op.getResult(0), isa<arith::RemUIOp>(op) ? column : row);
      continue;
    }
    if (bufferOf(&op) != argument) {
      builder.clone(op, mapping);
      continue;
    }
    if (auto store = dyn_cast<memref::StoreOp>(op))
      return mapping.lookupOrDefault(store.getValue());
    mapping.map(op.getResult(0), value);
  }
  return Value();
}

/// Behind each load of a slice, or instead of it, and behind each store of one comes what `whole`
/// does with the element.
static void emitSliced(OpBuilder &builder, MergedKernel &merged, scf::ForOp sliced,
                       IRMapping mapping, llvm::function_ref<Value(Value)> operandOf,
                       scf::ForOp whole, const IRMapping &wholeMapping, BlockArgument argument,
                       Value matrix, bool isFilled) {
  mapping.map(sliced.getInductionVar(), merged.loop.getInductionVar());
  for (Operation &op : sliced.getBody()->without_terminator()) {
    Value buffer = bufferOf(&op);
    auto slice = buffer ? sliceOf(operandOf(buffer)) : std::nullopt;
    if (!slice || slice->whole != matrix) {
      builder.clone(op, mapping);
      continue;
    }
    Location loc = op.getLoc();
    ValueRange indices = indicesOf(&op);
    Value row = mapping.lookup(indices[0]);
    Value column =
        arith::AddIOp::create(builder, loc, mapping.lookup(indices[1]),
                              arith::ConstantIndexOp::create(builder, loc, slice->first));
    Value stored;
    if (!isFilled) {
      builder.clone(op, mapping);
      stored = mapping.lookupOrDefault(cast<memref::StoreOp>(op).getValue());
    }
    Value filled = emitAt(builder, whole, wholeMapping, argument, row, column, stored);
    if (isFilled)
      mapping.map(op.getResult(0), filled);
  }
}

/// Writes the loops' bodies one after the other, what they load before what they store: packs of
/// elements are then loaded at once. Nobody reads `passed` but the second one.
static void emitOneByOne(OpBuilder &builder, MergedKernel &merged,
                         ArrayRef<std::pair<scf::ForOp, IRMapping *>> parts, Value passed) {
  llvm::MapVector<Value, std::pair<Operation *, IRMapping *>> stores; // by the buffer
  for (const auto &[part, mapping] : parts) {
    scf::ForOp loop = part;
    mapping->map(loop.getInductionVar(), merged.loop.getInductionVar());
    for (Operation &op : loop.getBody()->without_terminator()) {
      Value buffer = bufferOf(&op);
      Value whole = buffer ? merged.bufferOf(mapping->lookup(buffer)) : Value();
      if (isa<memref::StoreOp>(op)) {
        stores[whole] = {&op, mapping};
        continue;
      }
      auto stored = whole ? stores.find(whole) : stores.end();
      if (stored == stores.end()) {
        builder.clone(op, *mapping);
        continue;
      }
      auto [store, itsMapping] = stored->second;
      mapping->map(op.getResult(0),
                   itsMapping->lookupOrDefault(cast<memref::StoreOp>(store).getValue()));
    }
  }
  for (auto &[whole, store] : stores)
    if (whole != passed)
      builder.clone(*store.first, *store.second);
}

bool LaunchMerger::mayStoreLast(const Straight &first, const Straight &second) const {
  SmallVector<std::pair<Value, bool>> touched; // and whether it is written
  for (const Straight *part : {&first, &second})
    for (BlockArgument argument : buffersOf(part->kernel)) {
      const bool isWritten = isStoredTo(argument);
      if (isWritten && !touchesOwnElement(argument, part->loop) && !isTurned(argument, part->loop))
        return false;
      touched.emplace_back(skipBufferReshapes(part->operandOf(argument)), isWritten);
    }
  for (auto [x, xIsWritten] : touched)
    for (auto [y, yIsWritten] : touched)
      if ((xIsWritten || yIsWritten) && x != y && mayOverlap(x, y) && !areDisjointSlices(x, y))
        return false;
  return true;
}

Value LaunchMerger::findPassed(const Straight &first, const Straight &second) const {
  for (BlockArgument argument : buffersOf(first.kernel)) {
    Value buffer = skipBufferReshapes(first.operandOf(argument));
    if (!argument.hasOneUse() || !isStoredTo(argument) || !buffer.getDefiningOp<mpcrt::ViewOp>())
      continue;
    SmallVector<Value> shapes{buffer};
    bool isPassed = true;
    for (size_t i = 0; i < shapes.size(); ++i)
      for (Operation *user : shapes[i].getUsers()) {
        if (isBufferReshape(user))
          shapes.push_back(user->getResult(0));
        else
          isPassed &= user == first.launch || user == second.launch;
      }
    if (isPassed)
      return buffer;
  }
  return Value();
}

mpcrt::LaunchOp LaunchMerger::merge(mpcrt::LaunchOp first, mpcrt::LaunchOp second, bool atSecond) {
  func::FuncOp later = uses.kernelOf(second);
  const bool turns = later && later->hasAttr(mpcrt::kTurnsAttr);
  auto one = straightOf(first, /*readsBefore=*/turns), two = straightOf(second, false);
  if (!one || !two)
    return nullptr;
  const bool areAlike = areElementwise(*one, *two) && mayStoreLast(*one, *two);
  BlockArgument filled = areAlike ? nullptr : findSliced(*one, *two, /*isFilled=*/true);
  BlockArgument copied = areAlike || filled ? nullptr : findSliced(*two, *one, /*isFilled=*/false);
  if (!areAlike && !filled && !copied)
    return nullptr;
  MergedKernel merged(one->kernel, first.getArguments(), two->kernel, second.getArguments());
  OpBuilder builder = OpBuilder::atBlockBegin(merged.loop.getBody());
  if (areAlike) {
    emitOneByOne(builder, merged,
                 {{one->loop, &merged.firstMapping}, {two->loop, &merged.secondMapping}},
                 turns ? findPassed(*one, *two) : Value());
  } else {
    const Straight &whole = filled ? *one : *two, &sliced = filled ? *two : *one;
    BlockArgument argument = filled ? filled : copied;
    emitSliced(
        builder, merged, sliced.loop, filled ? merged.secondMapping : merged.firstMapping,
        [&](Value buffer) { return sliced.operandOf(buffer); }, whole.loop,
        filled ? merged.firstMapping : merged.secondMapping, argument, whole.operandOf(argument),
        filled != nullptr);
  }
  merged.prune();
  mpcrt::LaunchOp wide = filled ? second : first; // which counts the iterations
  uses.insert(merged.kernel, two->kernel);
  OpBuilder host(atSecond ? second : first);
  auto launch = mpcrt::LaunchOp::create(
      host, wide.getLoc(), merged.kernel.getSymName(), wide.getCount(),
      std::min(first.getGrain(), second.getGrain()), merged.operands.getArrayRef());
  remark::passed(launch.getLoc(),
                 remark::RemarkOpts::name("merge-launches").category("mpc-kernels"))
      << ("@" + merged.kernel.getSymName() + " for " + first.getKernel() + " and " +
          second.getKernel())
             .str();
  uses.erase(first);
  uses.erase(second);
  return launch;
}
