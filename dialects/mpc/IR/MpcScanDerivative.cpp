// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The derivative of mpc.scan: a scan in the other direction whose body is the reverse mode of the
// forward body. Reads what the forward scan stacked, computes again what is cheap, and leaves sums
// over steps that contractions, biases or gathered rows make to one op behind the loop.
#include "dialects/mpc/IR/JoinPads.h"
#include "dialects/mpc/IR/Mpc.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mpc;

namespace {
/// A sum over steps and samples that is one op behind the loop: the cotangent of a capture.
struct Hoisted {
  unsigned capture;
  Operation *op; // of the forward body: a contraction with the capture on the right, rows that are
                 // gathered from it, or an addition to it
  Value cotangent; // of the op's result, in the backward body
  // Outputs of the backward scan that stack the cotangent and, where the forward scan has no stack
  // of it, the op's other operand.
  unsigned output = 0;
  std::optional<unsigned> otherOutput = {};

  /// The derivative reads this beside the cotangent; null: nothing.
  Value getOther() const {
    if (auto contract = dyn_cast<ContractOp>(op))
      return contract.getLhs();
    if (auto gather = dyn_cast<GatherOp>(op))
      return gather.getIndices();
    return {};
  }
};

class ScanDerivative {
public:
  ScanDerivative(ScanOp op, OpBuilder &builder, ValueRange cotangents, ArrayRef<bool> wanted)
      : builder(builder), inner(builder), loc(op.getLoc()), cotangents(cotangents), wanted(wanted),
        source(op) {}

  LogicalResult run(MutableArrayRef<Value> operandCotangents);

private:
  void findActive();
  void addArguments();
  void cloneForward();
  LogicalResult sweep();
  void readStacks();
  void yieldCarried();
  void accumulateCaptures();
  void stackSlices();
  void stackHoisted();
  void finishBody();
  ScanOp createScan();
  LogicalResult giveCotangents(ScanOp scan, MutableArrayRef<Value> operandCotangents);
  void addCapture(MutableArrayRef<Value> captures, unsigned i, Value cotangent);
  LogicalResult addHoisted(const Hoisted &sum, ScanOp scan, MutableArrayRef<Value> captures);
  bool hoist(Operation *op, unsigned operand, Value cotangent);
  void add(Value value, Value cotangent);
  bool isCapture(Value value) { return llvm::is_contained(source.getCaptured(), value); }
  /// The type of a capture's cotangent: the sum over the steps is not rounded.
  static RankedTensorType sumType(Value capture) {
    auto type = tensorTypeOf(capture);
    return type.clone(widerOf32(type.getElementType()));
  }
  /// The output of the backward scan that stacks `value`, made once.
  unsigned stack(Value value);
  Value stackedOperand(Value forward);
  Value zerosLike(OpBuilder &at, Value value);

  OpBuilder &builder;
  OpBuilder inner; ///< in the backward body
  Location loc;
  ValueRange cotangents;
  ArrayRef<bool> wanted;
  ScanOp source; ///< the forward scan whose stacks are read
  llvm::DenseSet<Value> active;
  std::unique_ptr<Block> block;
  SmallVector<unsigned> carriedIndices; ///< of carried values that have a cotangent
  SmallVector<unsigned>
      accumulatedCaptures;           ///< indices of captures with an accumulator in the loop
  SmallVector<Value> inits, scanned; ///< operands of the backward scan
  IRMapping forward;                 ///< values of the forward body to their stand-ins
  DenseMap<Operation *, Operation *> clones;
  DenseMap<Value, Value> total; ///< cotangents of values of the forward body
  SmallVector<Hoisted> hoisted;
  SmallVector<std::pair<unsigned, unsigned>> sliceOutputs; ///< scanned tensor, output
  SmallVector<Value> yielded; ///< by the backward body: cotangents of carried values, then sums
  SmallVector<Value> outputs; ///< what it yields behind these, to be stacked
};
} // namespace

static bool isFloating(Value value) { return isa<FloatType>(elementTypeOf(value)); }

/// Activity of the body: what depends on a wanted operand and reaches a result with a cotangent,
/// through any number of steps.
void ScanDerivative::findActive() {
  Block &body = source.getBody().front();
  const unsigned count = unsigned(source.getInits().size());
  ValueRange yielded = source.getYield().getValues();
  llvm::DenseSet<Value> varied, useful;
  for (auto [argument, isWanted] : llvm::zip_equal(body.getArguments(), wanted))
    if (isWanted && isFloating(argument))
      varied.insert(argument);
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation &op : body.without_terminator())
      if (llvm::any_of(op.getOperands(), [&](Value v) { return varied.contains(v); }))
        for (Value result : op.getResults())
          if (isFloating(result))
            varied.insert(result);
    for (unsigned i = 0; i < count; ++i)
      if (varied.contains(yielded[i]))
        changed |= varied.insert(body.getArgument(i)).second;
  }
  for (auto [value, cotangent] : llvm::zip_equal(yielded, cotangents))
    if (cotangent)
      useful.insert(value);
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation &op : llvm::reverse(body.without_terminator()))
      if (llvm::any_of(op.getResults(), [&](Value v) { return useful.contains(v); }))
        useful.insert(op.getOperands().begin(), op.getOperands().end());
    for (unsigned i = 0; i < count; ++i)
      if (useful.contains(body.getArgument(i)))
        changed |= useful.insert(yielded[i]).second;
  }
  for (Value value : varied)
    if (useful.contains(value))
      active.insert(value);
  for (unsigned i = 0; i < count; ++i)
    if (varied.contains(body.getArgument(i)) &&
        (cotangents[i] || useful.contains(body.getArgument(i))))
      carriedIndices.push_back(i);
}

Value ScanDerivative::zerosLike(OpBuilder &at, Value value) {
  Value zero = scalarConstant(at, loc, elementTypeOf(value), 0);
  return BroadcastLikeOp::create(at, loc, zero, value);
}

static Value castTo(OpBuilder &builder, Location loc, Value value, Type element) {
  auto type = tensorTypeOf(value).clone(element);
  return value.getType() == type ? value : Value(CastOp::create(builder, loc, type, value));
}

void ScanDerivative::add(Value value, Value cotangent) {
  Value &sum = total[value];
  if (!sum) {
    sum = cotangent;
    return;
  }
  Value joined = joinPads(inner, loc, sum, cotangent);
  if (joined) {
    sum = joined;
    return;
  }
  // A sum over the steps of a loop inside is not rounded (see DifferentiableOpInterface).
  Type element = elementTypeOf(sum) == elementTypeOf(cotangent) ? elementTypeOf(sum)
                                                                : widerOf32(elementTypeOf(sum));
  sum = AddOp::create(inner, loc, castTo(inner, loc, sum, element),
                      castTo(inner, loc, cotangent, element));
}

unsigned ScanDerivative::stack(Value value) {
  auto known = llvm::find(outputs, value);
  if (known == outputs.end())
    known = outputs.insert(outputs.end(), value);
  return unsigned(known - outputs.begin());
}

/// Arguments of the backward body in its order: carried cotangents, slices, captures. Accumulators
/// of captures are inserted behind the carried ones later.
void ScanDerivative::addArguments() {
  const unsigned count = unsigned(source.getInits().size());
  ValueRange yielded = source.getYield().getValues();
  for (unsigned i : carriedIndices) {
    inits.push_back(cotangents[i] ? cotangents[i] : zerosLike(builder, source.getInits()[i]));
    add(yielded[i], block->addArgument(inits.back().getType(), loc));
  }
  auto addSlice = [&](Value whole) -> Value {
    scanned.push_back(whole);
    return block->addArgument(ScanOp::sliceType(tensorTypeOf(whole)), loc);
  };
  for (unsigned i = count; i < cotangents.size(); ++i)
    if (cotangents[i] && active.contains(yielded[i]))
      add(yielded[i], addSlice(cotangents[i]));
  for (auto [slice, whole] : llvm::zip_equal(source.getSlices(), source.getScanned()))
    forward.map(slice, addSlice(whole));
  for (Value value : source.getValuesToSave())
    forward.map(value, addSlice(source.findStack(value)));
  for (BlockArgument capture : source.getCaptured())
    forward.map(capture, block->addArgument(capture.getType(), loc));
}

/// Copies of the forward ops, for their derivatives to be built from. What reads a stacked result
/// reads its slice.
void ScanDerivative::cloneForward() {
  for (Operation &op : source.getBody().front().without_terminator()) {
    IRMapping operands(forward);
    Operation *clone = inner.clone(op, operands);
    clones[&op] = clone;
    for (auto [result, copy] : llvm::zip_equal(op.getResults(), clone->getResults()))
      if (!forward.contains(result))
        forward.map(result, copy);
  }
}

/// Whether the derivative with respect to this operand of `op`, a capture, is left to one op behind
/// the loop.
bool ScanDerivative::hoist(Operation *op, unsigned operand, Value cotangent) {
  if (!isCapture(op->getOperand(operand)))
    return false;
  auto argument = cast<BlockArgument>(op->getOperand(operand));
  const unsigned capture = argument.getArgNumber() - source.getCaptured().front().getArgNumber();
  auto contract = dyn_cast<ContractOp>(op);
  const bool isProduct = contract && operand == 1 && contract.getLhsBatch().empty() &&
                         !llvm::is_contained(contract.getLhsContracting(), 0) &&
                         contract.getLhs() != contract.getRhs();
  // A bias: without the batch dimension, so that the steps count as one more sum.
  const bool isBias =
      isa<AddOp>(op) && tensorTypeOf(argument).getRank() < tensorTypeOf(op->getResult(0)).getRank();
  // Rows of a table: optimizers see one sparse gradient, as of a gather outside of loops.
  auto gather = dyn_cast<GatherOp>(op);
  const bool areRows = gather && operand == 0 && gather.getAxis() == 0 &&
                       gather.getBatchDims() == 0 &&
                       tensorTypeOf(gather.getIndices()).getRank() > 0;
  if (!isProduct && !isBias && !areRows)
    return false;
  hoisted.push_back({capture, op, cotangent});
  return true;
}

LogicalResult ScanDerivative::sweep() {
  for (Operation &op : llvm::reverse(source.getBody().front().without_terminator())) {
    SmallVector<Value> results =
        llvm::map_to_vector(op.getResults(), [&](Value v) { return total.lookup(v); });
    SmallVector<bool> needed = llvm::map_to_vector(
        op.getOperands(), [&](Value operand) { return active.contains(operand); });
    if (llvm::none_of(results, [](Value v) { return bool(v); }) ||
        llvm::none_of(needed, [](bool n) { return n; }))
      continue;
    auto differentiable = dyn_cast<DifferentiableOpInterface>(clones.lookup(&op));
    if (!differentiable)
      return op.emitError() << "'" << op.getName()
                            << "' has no derivative, but the loss depends on it";
    if (op.getNumResults() == 1)
      for (unsigned i = 0; i < needed.size(); ++i)
        if (needed[i] && hoist(&op, i, results[0]))
          needed[i] = false;
    SmallVector<Value> operands(op.getNumOperands());
    if (llvm::any_of(needed, [](bool n) { return n; }) &&
        failed(differentiable.buildVjp(inner, results, needed, operands)))
      return failure();
    for (auto [operand, cotangent, isNeeded] : llvm::zip_equal(op.getOperands(), operands, needed))
      if (isNeeded && cotangent)
        add(operand,
            isCapture(operand) ? cotangent : castTo(inner, loc, cotangent, elementTypeOf(operand)));
  }
  return success();
}

/// A value of the forward body for all steps, for ops behind the loop.
Value ScanDerivative::stackedOperand(Value value) {
  if (Value stacked = source.findStack(value))
    return stacked;
  for (auto [slice, whole] : llvm::zip_equal(source.getSlices(), source.getScanned()))
    if (slice == value)
      return whole;
  return {};
}

/// Derivatives read results of the copies; the stacks hold them.
void ScanDerivative::readStacks() {
  for (auto [op, clone] : clones)
    for (auto [result, copy] : llvm::zip_equal(op->getResults(), clone->getResults()))
      if (Value stand = forward.lookup(result); stand != copy)
        copy.replaceAllUsesWith(stand);
}

void ScanDerivative::yieldCarried() {
  for (auto [position, i] : llvm::enumerate(carriedIndices)) {
    Value cotangent = total.lookup(source.getCarried()[i]);
    yielded.push_back(cotangent ? cotangent : zerosLike(inner, block->getArgument(position)));
  }
}

/// Cotangents of captures that are summed in the loop.
void ScanDerivative::accumulateCaptures() {
  for (auto [i, capture] : llvm::enumerate(source.getCaptured())) {
    Value cotangent = total.lookup(capture);
    if (!cotangent)
      continue;
    auto wide = sumType(capture);
    const unsigned position = unsigned(carriedIndices.size() + accumulatedCaptures.size());
    Value accumulator = block->insertArgument(position, wide, loc);
    Value init = scalarConstant(builder, loc, wide.getElementType(), 0);
    inits.push_back(wide.hasStaticShape() ? Value(ConstantOp::create(builder, loc, wide, 0.0))
                                          : Value(BroadcastLikeOp::create(
                                                builder, loc, init, source.getCaptures()[i])));
    accumulatedCaptures.push_back(unsigned(i));
    if (cotangent.getType() != wide)
      cotangent = CastOp::create(inner, loc, wide, cotangent);
    yielded.push_back(AddOp::create(inner, loc, accumulator, cotangent));
  }
}

void ScanDerivative::stackSlices() {
  const unsigned count = unsigned(source.getInits().size());
  for (auto [i, slice] : llvm::enumerate(source.getSlices()))
    if (wanted[count + i])
      if (Value cotangent = total.lookup(slice))
        sliceOutputs.push_back({i, stack(cotangent)});
}

void ScanDerivative::stackHoisted() {
  for (Hoisted &sum : hoisted) {
    sum.output = stack(sum.cotangent);
    if (Value other = sum.getOther(); other && !stackedOperand(other))
      sum.otherOutput = stack(forward.lookup(other));
  }
}

void ScanDerivative::finishBody() {
  llvm::append_range(yielded, outputs);
  YieldOp::create(inner, loc, yielded);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
    if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>())
      op.erase();
}

ScanOp ScanDerivative::createScan() {
  SmallVector<Type> types(ValueRange(inits).getTypes());
  for (Value output : outputs)
    types.push_back(ScanOp::stackType(tensorTypeOf(output), source.getSteps()));
  auto scan = ScanOp::create(builder, loc, types, inits, scanned, source.getCaptures(),
                             source.getSteps(), !source.getReverse());
  scan.getBody().push_back(block.release());
  return scan;
}

/// Adds to the cotangent of operand `i` of those that are captured.
void ScanDerivative::addCapture(MutableArrayRef<Value> captures, unsigned i, Value cotangent) {
  Value &sum = captures[i];
  sum = sum ? Value(AddOp::create(builder, loc, sum, cotangent)) : cotangent;
}

LogicalResult ScanDerivative::addHoisted(const Hoisted &sum, ScanOp scan,
                                         MutableArrayRef<Value> captures) {
  ResultRange stacked = scan.getStacked();
  Value capture = source.getCaptures()[sum.capture];
  Value cotangent = stacked[sum.output], other = sum.getOther();
  if (other)
    other = sum.otherOutput ? Value(stacked[*sum.otherOutput]) : stackedOperand(other);
  if (isa<GatherOp>(sum.op)) {
    cotangent = castTo(builder, loc, cotangent, sumType(capture).getElementType());
    addCapture(captures, sum.capture,
               ScatterAddOp::create(builder, loc, other, cotangent, capture, /*axis=*/0,
                                    /*batch_dims=*/0));
    return success();
  }
  auto contract = dyn_cast<ContractOp>(sum.op);
  if (!contract) {
    addCapture(captures, sum.capture, sumToType(builder, loc, cotangent, sumType(capture)));
    return success();
  }
  // The derivative of the product of all steps at once.
  SmallVector<int64_t> contracting(contract.getLhsContracting());
  for (int64_t &dimension : contracting)
    ++dimension;
  auto product =
      ContractOp::create(builder, loc, other, capture, contracting, contract.getRhsContracting());
  product.setEveryStep(true);
  SmallVector<Value> partial(product->getNumOperands());
  LogicalResult built = product.buildVjp(builder, cotangent, {false, true, false}, partial);
  product.erase();
  if (failed(built))
    return failure();
  addCapture(captures, sum.capture, partial[1]);
  return success();
}

LogicalResult ScanDerivative::giveCotangents(ScanOp scan,
                                             MutableArrayRef<Value> operandCotangents) {
  const size_t count = source.getInits().size();
  for (auto [position, i] : llvm::enumerate(carriedIndices))
    if (wanted[i])
      operandCotangents[i] = scan.getResult(unsigned(position));
  for (auto [i, output] : sliceOutputs)
    operandCotangents[count + i] = scan.getStacked()[output];
  auto captures = operandCotangents.drop_front(count + source.getScanned().size());
  for (auto [position, i] : llvm::enumerate(accumulatedCaptures))
    addCapture(captures, i, scan.getResult(unsigned(carriedIndices.size() + position)));
  for (const Hoisted &sum : hoisted)
    if (failed(addHoisted(sum, scan, captures)))
      return failure();
  return success();
}

LogicalResult ScanDerivative::run(MutableArrayRef<Value> operandCotangents) {
  for (auto [i, value] : llvm::enumerate(source.getCarried()))
    if (tensorTypeOf(value).getRank() == 0)
      return source.emitError() << "has no derivative, because it carries value " << i
                                << " of rank 0, which cannot be stacked; give it a dimension of 1";
  if (llvm::any_of(source.getValuesToSave(), [&](Value v) { return !source.findStack(v); })) {
    // The scan was not prepared, so that the forward scan runs once more.
    source = cast<ScanOp>(source.buildWithSavedValues(builder));
    SmallVector<Value> padded(cotangents.begin(), cotangents.end());
    padded.resize(source.getNumResults());
    ScanOp prepared = source;
    return ScanDerivative(prepared, builder, padded, wanted).run(operandCotangents);
  }
  block = std::make_unique<Block>();
  inner.setInsertionPointToEnd(block.get());
  findActive();
  addArguments();
  cloneForward();
  if (failed(sweep()))
    return failure();
  readStacks();
  yieldCarried();
  accumulateCaptures();
  stackSlices();
  stackHoisted();
  finishBody();
  return giveCotangents(createScan(), operandCotangents);
}

LogicalResult ScanOp::buildVjp(OpBuilder &builder, ValueRange cotangents, ArrayRef<bool> wanted,
                               MutableArrayRef<Value> operandCotangents) {
  return ScanDerivative(*this, builder, cotangents, wanted).run(operandCotangents);
}
