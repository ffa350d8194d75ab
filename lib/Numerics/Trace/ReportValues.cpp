// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which values an entry reports, under which names, and in which order.
#include "lib/Numerics/Trace/ReportValues.h"
#include "dialects/mpc/IR/Float8.h"
#include "dialects/mpc/IR/TraceRules.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Analysis/TracedNames.h"

using namespace mlir;
using namespace mpc;

namespace {

bool isOfBackward(Operation *op) { return !isa<TraceOp>(op) && isBackward(op->getLoc()); }

bool isFloating(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  auto element = type ? dyn_cast<FloatType>(type.getElementType()) : FloatType();
  return element && element.getWidth() >= 16;
}

class Reporter {
public:
  explicit Reporter(func::FuncOp entry)
      : entry(entry), block(entry.getBody().front()), builder(entry.getContext()) {}
  int64_t run();

private:
  VariableOp variableOf(FlatSymbolRefAttr symbol) {
    return SymbolTable::lookupNearestSymbolFrom<VariableOp>(entry, symbol);
  }
  TraceOp report(Value value, TraceDirection direction, const Twine &op, StringRef layer,
                 Value before = Value(), bool isScaled = false, Type float8 = Type());
  /// The numbers that are multiplied in place of the result, which has the scale in it.
  void reportFloat8(Float8QuantizeOp op, TraceDirection direction, StringRef layer);
  /// For what is reported alone.
  Value widen(Value value, Type element);
  void reportUpdates();
  void reportGradient(OptimizerStepOp step, VariableOp variable);
  void dropUpdates();
  void reportArguments();
  void reportResults(Operation *op, TraceDirection direction);
  bool leavesLayer(Value value);
  void number();
  SmallVector<int64_t> sourcesOf(Value value);

  func::FuncOp entry;
  Block &block;
  OpBuilder builder;
  llvm::DenseMap<Value, int64_t> slots; // of the first report of a value
  llvm::DenseSet<Operation *> added;    // compute what is reported alone
};

} // namespace

TraceOp Reporter::report(Value value, TraceDirection direction, const Twine &op, StringRef layer,
                         Value before, bool isScaled, Type float8) {
  return TraceOp::create(builder, value.getLoc(), value, before, direction, /*slot=*/0, op.str(),
                         layer, ArrayRef<int64_t>(), isScaled,
                         float8 ? TypeAttr::get(float8) : TypeAttr());
}

void Reporter::reportFloat8(Float8QuantizeOp op, TraceDirection direction, StringRef layer) {
  Value scale = op.getScale();
  Value scaled = scaleForFloat8(builder, op.getLoc(), op.getInput(), scale, op.getFormat());
  Value rounded =
      RoundFloat8Op::create(builder, op.getLoc(), scaled.getType(), scaled, op.getFormatAttr());
  report(rounded, direction, RoundFloat8Op::getOperationName().rsplit('.').second, layer, scaled,
         /*isScaled=*/false, op.getFormat());
}

Value Reporter::widen(Value value, Type element) {
  auto type = tensorTypeOf(value).clone(element);
  if (type == value.getType())
    return value;
  auto cast = CastOp::create(builder, value.getLoc(), type, value);
  added.insert(cast);
  return cast;
}

/// The gradient as the optimizer takes it: with the loss scale, where it has one, and without.
void Reporter::reportGradient(OptimizerStepOp step, VariableOp variable) {
  Value gradient = step.getGradient(), scale = step.getUnscale();
  builder.setInsertionPoint(step);
  if (!scale) {
    report(gradient, TraceDirection::Backward, "gradient:" + tracedNameOf(variable),
           tracedLayerOf(variable));
    return;
  }
  report(gradient, TraceDirection::Backward, "scaled_gradient:" + tracedNameOf(variable),
         tracedLayerOf(variable), Value(), /*isScaled=*/true);
  const Type wide = widerOf32(elementTypeOf(gradient));
  auto unscaled =
      DivideOp::create(builder, step.getLoc(), widen(gradient, wide), widen(scale, wide));
  added.insert(unscaled);
  report(unscaled, TraceDirection::Backward, "gradient:" + tracedNameOf(variable),
         tracedLayerOf(variable));
}

/// The optimizer adds something to weights, and renews what it keeps of each: both are reported.
void Reporter::reportUpdates() {
  Operation *terminator = block.getTerminator();
  llvm::DenseSet<Operation *> seen;
  for (unsigned i = 0; i < entry.getNumResults(); ++i) {
    auto symbol = entry.getResultAttrOfType<FlatSymbolRefAttr>(i, MpcDialect::kUpdatesAttr);
    VariableOp variable = symbol ? variableOf(symbol) : VariableOp();
    Value value = terminator->getOperand(i);
    if (!variable || !isFloating(value))
      continue;
    const bool isWeight = variable.getRole() == VariableRole::Trainable;
    if (auto step = value.getDefiningOp<OptimizerStepOp>();
        step && isWeight && seen.insert(step).second)
      reportGradient(step, variable);
    builder.setInsertionPoint(terminator);
    if (variable.getRole() == VariableRole::Optimizer && tensorTypeOf(value).getRank() > 0)
      report(value, TraceDirection::Optimizer, "slot", variable.getSymName());
    // Statistics that a layer keeps of what it has seen: float32 holds those that it could compute.
    if (variable.getRole() == VariableRole::NonTrainable &&
        elementTypeOf(value).getIntOrFloatBitWidth() < 32)
      report(value, TraceDirection::Forward, "updated:" + tracedNameOf(variable),
             tracedLayerOf(variable));
    if (!isWeight)
      continue;
    Value old;
    for (BlockArgument argument : entry.getArguments())
      if (entry.getArgAttr(argument.getArgNumber(), MpcDialect::kVariableAttr) == symbol)
        old = argument;
    if (!old)
      continue;
    report(value, TraceDirection::Optimizer, "updated:" + tracedNameOf(variable),
           tracedLayerOf(variable));
    const Type wide = widerOf32(elementTypeOf(value));
    auto difference =
        SubtractOp::create(builder, value.getLoc(), widen(value, wide), widen(old, wide));
    added.insert(difference);
    report(difference, TraceDirection::Optimizer, "update:" + tracedNameOf(variable),
           tracedLayerOf(variable));
  }
}

/// Variables stay as they are: what only updates them goes.
void Reporter::dropUpdates() {
  llvm::BitVector dropped(entry.getNumResults());
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    if (entry.getResultAttr(i, MpcDialect::kUpdatesAttr))
      dropped.set(i);
  block.getTerminator()->eraseOperands(dropped);
  (void)entry.eraseResults(dropped);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
  llvm::BitVector unused(entry.getNumArguments());
  for (BlockArgument argument : entry.getArguments())
    if (argument.use_empty() &&
        entry.getArgAttr(argument.getArgNumber(), MpcDialect::kVariableAttr))
      unused.set(argument.getArgNumber());
  (void)entry.eraseArguments(unused);
}

void Reporter::reportArguments() {
  builder.setInsertionPointToStart(&block);
  for (BlockArgument argument : entry.getArguments()) {
    if (!isFloating(argument))
      continue;
    const unsigned index = argument.getArgNumber();
    if (auto name = entry.getArgAttrOfType<StringAttr>(index, MpcDialect::kInputAttr)) {
      report(argument, TraceDirection::Forward, "input", name.getValue());
      continue;
    }
    auto symbol = entry.getArgAttrOfType<FlatSymbolRefAttr>(index, MpcDialect::kVariableAttr);
    VariableOp variable = symbol ? variableOf(symbol) : VariableOp();
    if (variable && (variable.getRole() == VariableRole::Trainable ||
                     variable.getRole() == VariableRole::NonTrainable))
      report(argument, TraceDirection::Forward, "weight:" + tracedNameOf(variable),
             tracedLayerOf(variable));
  }
}

/// Whether an op of another layer reads it, or whoever called.
bool Reporter::leavesLayer(Value value) {
  const StringRef own = tracedLayerOf(value.getDefiningOp()->getLoc());
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return !isa<TraceOp>(user) &&
           (user->hasTrait<OpTrait::IsTerminator>() || tracedLayerOf(user->getLoc()) != own);
  });
}

void Reporter::reportResults(Operation *op, TraceDirection direction) {
  if (isa<ConstantOp, TraceOp, OptimizerStepOp>(op) || added.contains(op))
    return;
  for (Value result : op->getResults()) {
    if (!isFloating(result) || (op->hasTrait<MovesElements>() && !leavesLayer(result)))
      continue;
    // Counters of steps, in float64.
    if (direction == TraceDirection::Optimizer && elementTypeOf(result).isF64() &&
        tensorTypeOf(result).getRank() == 0)
      continue;
    Value before;
    if (auto cast = dyn_cast<CastOp>(op); cast && isFloating(cast.getInput()) &&
                                          elementTypeOf(cast.getInput()).getIntOrFloatBitWidth() >
                                              elementTypeOf(result).getIntOrFloatBitWidth())
      before = cast.getInput();
    builder.setInsertionPointAfter(op);
    StringRef layer = tracedLayerOf(op->getLoc());
    if (layer.empty())
      layer = direction == TraceDirection::Optimizer ? "optimizer" : "loss";
    Type float8;
    if (auto round = dyn_cast<RoundFloat8Op>(op)) {
      before = round.getInput();
      float8 = round.getFormat();
    }
    report(result, direction, op->getName().stripDialect(), layer, before, /*isScaled=*/false,
           float8);
    if (auto quantize = dyn_cast<Float8QuantizeOp>(op))
      reportFloat8(quantize, direction, layer);
  }
}

/// Slots of what the value was computed of, through ops that report nothing.
SmallVector<int64_t> Reporter::sourcesOf(Value value) {
  SmallVector<int64_t> sources;
  SmallVector<Value> pending;
  llvm::SmallDenseSet<Value> seen;
  auto push = [&](ValueRange operands) {
    for (Value operand : llvm::reverse(operands))
      pending.push_back(operand);
  };
  if (auto slot = slots.find(value); slot != slots.end())
    return {slot->second};
  if (Operation *op = value.getDefiningOp())
    push(op->getOperands());
  while (!pending.empty() && sources.size() < kMostTraceSources) {
    Value source = pending.pop_back_val();
    if (!seen.insert(source).second)
      continue;
    if (auto slot = slots.find(source); slot != slots.end()) {
      if (!llvm::is_contained(sources, slot->second))
        sources.push_back(slot->second);
    } else if (Operation *op = source.getDefiningOp()) {
      push(op->getOperands());
    }
  }
  return sources;
}

/// A slot is the rank in the order of execution.
void Reporter::number() {
  int64_t next = 0;
  for (TraceOp trace : block.getOps<TraceOp>()) {
    trace.setSources(sourcesOf(trace.getValue()));
    trace.setSlot(static_cast<uint64_t>(next));
    slots.try_emplace(trace.getValue(), next++);
  }
}

int64_t Reporter::run() {
  reportUpdates();
  dropUpdates();
  Operation *lastBackward = nullptr;
  for (Operation &op : block)
    if (isOfBackward(&op) && !added.contains(&op))
      lastBackward = &op;
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  bool isBehind = false;
  for (Operation *op : ops) {
    reportResults(op, isOfBackward(op) ? TraceDirection::Backward
                      : isBehind       ? TraceDirection::Optimizer
                                       : TraceDirection::Forward);
    isBehind |= op == lastBackward;
  }
  reportArguments();
  number();
  return static_cast<int64_t>(slots.size());
}

int64_t mpc::reportValues(func::FuncOp entry) { return Reporter(entry).run(); }
