// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Numerics/Trace/WatchedValues.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mpc;

/// A buffer that a call writes: the last one of several names it.
struct WatchedValues::Written {
  Value base;
  Operation *call = nullptr; ///< a launch, a library call or a store
  bool isOfSteps = false;    ///< a step of a loop writes its own part
  bool isConsumed = false;   ///< the launch beside the product reads it, and nothing else does
};

/// Calls `look` for each launch, library call and store of an op.
static void forEachCall(Operation *op, llvm::function_ref<void(Operation *)> look) {
  op->walk([&](Operation *inner) {
    if (inner->getNumRegions() == 0 && !isMemoryEffectFree(inner))
      look(inner);
  });
}

/// Whether it holds numbers of the model, of which there is a known number.
static bool holdsNumbers(Value base) {
  auto element = dyn_cast<FloatType>(cast<MemRefType>(base.getType()).getElementType());
  return element && element.getWidth() >= 16 && getElementCount(base);
}

static bool isNarrow(Value base) {
  return cast<MemRefType>(base.getType()).getElementTypeBitWidth() < 32;
}

/// Whether the buffer is a part that moves with the steps of a loop.
static bool movesWithSteps(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>()) {
    auto part = dyn_cast<memref::SubViewOp>(view.getOperation());
    if (part && !part.getOffsets().empty())
      return true;
    buffer = view.getViewSource();
  }
  return false;
}

static StringRef kindOf(Operation *call) {
  if (isa<mpcrt::WaitForRanksOp>(call))
    return "all_reduce";
  return isa<mpcrt::MpcrtDialect>(call->getDialect()) && !isa<mpcrt::LaunchOp>(call)
             ? call->getName().stripDialect()
             : StringRef("kernel");
}

WatchedValues::WatchedValues(func::FuncOp step, BufferUses &uses)
    : step(step), uses(uses), order(step.getBody().front(), uses) {
  auto module = step->getParentOfType<ModuleOp>();
  isScaled = !module.getOps<LossScaleOp>().empty();
  for (Operation &op : step.getBody().front())
    forEachCall(&op, [&](Operation *call) {
      if (isBackward(call->getLoc()))
        lastBackward = &op;
    });
}

VariableOp WatchedValues::variableOf(Value base) {
  auto argument = dyn_cast<BlockArgument>(base);
  auto symbol = argument ? step.getArgAttrOfType<FlatSymbolRefAttr>(argument.getArgNumber(),
                                                                    MpcDialect::kVariableAttr)
                         : FlatSymbolRefAttr();
  return symbol ? SymbolTable::lookupNearestSymbolFrom<VariableOp>(step, symbol) : VariableOp();
}

TraceDirection WatchedValues::directionOf(Operation *call) {
  if (isBackward(call->getLoc()))
    return TraceDirection::Backward;
  Operation *outer = step.getBody().front().findAncestorOpInBlock(*call);
  return lastBackward && lastBackward->isBeforeInBlock(outer) ? TraceDirection::Optimizer
                                                              : TraceDirection::Forward;
}

SmallVector<Value> WatchedValues::writtenFrom(mpcrt::LaunchOp launch, Value buffer) {
  SmallVector<Value> written;
  func::FuncOp kernel = uses.kernelOf(launch);
  Block &body = kernel.getBody().front();
  llvm::SmallDenseSet<Operation *> readers;
  bool isApart = true;
  for (auto [operand, argument] : llvm::zip(launch.getArguments(), kernel.getArguments())) {
    if (!isa<MemRefType>(operand.getType()) || !mayOverlap(operand, buffer))
      continue;
    for (Operation *user : argument.getUsers()) {
      Operation *outermost = body.findAncestorOpInBlock(*user);
      isApart &= outermost->getNumRegions() != 0;
      readers.insert(outermost);
    }
  }
  const auto &touched = uses.of(launch);
  for (auto [operand, argument] : llvm::zip(launch.getArguments(), kernel.getArguments())) {
    const bool isWritten =
        touched && llvm::any_of(*touched, [buffer = Value(operand)](const BufferUse &use) {
          return use.isWritten && use.buffer == buffer;
        });
    // A kernel of small loops, one behind the other, updates several variables.
    if (isWritten && llvm::any_of(argument.getUsers(), [&](Operation *user) {
          return !isApart || readers.contains(body.findAncestorOpInBlock(*user));
        }))
      written.push_back(baseOf(operand));
  }
  return written;
}

VariableOp WatchedValues::updatedFrom(Operation *reader, Value buffer,
                                      const BatchExtent &elements) {
  VariableOp updated;
  bool isOne = true, hasCalls = false;
  auto look = [&](Operation *unit) {
    const auto &touched = uses.of(unit);
    if (!touched || llvm::none_of(*touched, [&](const BufferUse &use) {
          return !use.isWritten && mayOverlap(use.base, buffer);
        }))
      return;
    SmallVector<Value> written;
    if (auto launch = dyn_cast<mpcrt::LaunchOp>(unit))
      written = writtenFrom(launch, buffer);
    else
      for (const BufferUse &use : *touched)
        if (use.isWritten)
          written.push_back(use.base);
    for (Value base : written)
      if (VariableOp variable = variableOf(base);
          variable && variable.getRole() == VariableRole::Trainable) {
        isOne &= (!updated || updated == variable) && getElementCount(base) == elements;
        updated = variable;
      }
  };
  forEachCall(reader, [&](Operation *call) {
    if (!isa<mpcrt::MpcrtDialect>(call->getDialect()))
      return;
    hasCalls = true;
    look(call);
  });
  // A loop of the host updates what is small: it loads and stores one by one.
  if (!hasCalls)
    look(reader);
  return isOne ? updated : VariableOp();
}

memref::SubViewOp WatchedValues::unpadded(Value base) {
  memref::SubViewOp part;
  SmallVector<Value> names{base};
  while (!names.empty())
    for (Operation *user : names.pop_back_val().getUsers()) {
      if (auto view = dyn_cast<memref::SubViewOp>(user)) {
        const bool isFirst =
            llvm::all_of(view.getMixedOffsets(), isZeroInteger) &&
            llvm::all_of(view->getOperands().drop_front(), llvm::IsaPred<BlockArgument>);
        if (!isFirst || view.getSource() != base || (part && part.getType() != view.getType()))
          return nullptr;
        part = view;
        continue;
      }
      if (isa<ViewLikeOpInterface>(user)) {
        names.append(user->result_begin(), user->result_end());
        continue;
      }
      if (isa<mpcrt::LibraryCallOpInterface>(user))
        continue;
      const auto &touched = uses.of(user);
      if (!isa<mpcrt::LaunchOp>(user) || !touched || touched->size() != 1)
        return nullptr;
    }
  return part;
}

WatchedValue WatchedValues::describe(const Written &written) {
  Location loc = written.call->getLoc();
  WatchedValue value{written.base,
                     Value(),
                     directionOf(written.call),
                     (written.isOfSteps ? "steps:" : "") + kindOf(written.call).str(),
                     tracedLayerOf(loc),
                     /*isScaled=*/false,
                     /*isUpdate=*/false,
                     /*part=*/{}};
  if (value.layer.empty())
    value.layer = value.direction == TraceDirection::Optimizer ? "optimizer" : "loss";
  return value;
}

std::optional<WatchedValue> WatchedValues::describeVariable(const Written &written) {
  VariableOp variable = variableOf(written.base);
  WatchedValue value = describe(written);
  value.layer = tracedLayerOf(variable);
  value.op = "updated:" + tracedNameOf(variable).str();
  switch (variable.getRole()) {
  case VariableRole::Trainable:
    value.isUpdate = true;
    value.direction = TraceDirection::Optimizer;
    return value;
  case VariableRole::NonTrainable:
    return value;
  case VariableRole::Optimizer:
    if (cast<MemRefType>(written.base.getType()).getRank() == 0)
      return std::nullopt;
    value.direction = TraceDirection::Optimizer;
    value.op = "slot";
    value.layer = variable.getSymName();
    return value;
  case VariableRole::Shadow: {
    // The copy that products read, of weights which the same kernel has just written.
    const FlatSymbolRefAttr symbol = variable.getShadowOfAttr();
    auto master = SymbolTable::lookupNearestSymbolFrom<VariableOp>(step, symbol);
    value.direction = TraceDirection::Optimizer;
    value.op = "cast:" + tracedNameOf(master).str();
    value.layer = tracedLayerOf(master);
    for (BlockArgument argument : step.getArguments())
      if (variableOf(argument) == master && cast<MemRefType>(argument.getType()).getShape() ==
                                                cast<MemRefType>(written.base.getType()).getShape())
        value.before = argument;
    return value;
  }
  case VariableRole::Metric:
  case VariableRole::Random:
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<WatchedValue> WatchedValues::describeResult(Operation *op, const Written &written) {
  WatchedValue value = describe(written);
  auto type = cast<MemRefType>(written.base.getType());
  if (auto argument = dyn_cast<BlockArgument>(written.base)) {
    auto name = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                  mpcrt::MpcrtDialect::kOutputAttr);
    if (!name)
      return std::nullopt;
    value.op = "output:" + name.getValue().str();
    return value;
  }
  // The host stores zeros, to which kernels add, and scalars.
  if (type.getRank() == 0 || !isa<mpcrt::MpcrtDialect>(written.call->getDialect()))
    return std::nullopt;
  value.part = unpadded(written.base);
  const Value numbers = value.part ? value.part.getResult() : written.base;
  bool isRead = false, leaves = isNarrow(written.base) || written.isOfSteps;
  auto readBy = [&](Operation *reader) {
    isRead = true;
    if (VariableOp variable = updatedFrom(reader, written.base, *getElementCount(numbers))) {
      value.op = (isScaled ? "scaled_gradient:" : "gradient:") + tracedNameOf(variable).str();
      value.layer = tracedLayerOf(variable);
      value.direction = TraceDirection::Backward;
      value.isScaled = isScaled;
      leaves = true;
    }
    forEachCall(reader, [&](Operation *call) {
      leaves |= tracedLayerOf(call->getLoc()) != tracedLayerOf(written.call->getLoc());
    });
  };
  if (written.isConsumed)
    readBy(op);
  else
    for (Operation *next = order.findNext(op, written.base); next;
         next = order.findNext(next, written.base)) {
      const auto &touched = uses.of(next);
      const bool isChanged = !touched || llvm::any_of(*touched, [&](const BufferUse &use) {
        return use.isWritten && mayOverlap(use.base, written.base);
      });
      // The rest of it is still to come, or it becomes something else in place.
      if (isChanged && !isRead &&
          tracedLayerOf(next->getLoc()) == tracedLayerOf(written.call->getLoc()))
        return std::nullopt;
      readBy(next);
      if (isChanged)
        break;
    }
  return isRead && leaves ? std::optional(value) : std::nullopt;
}

SmallVector<WatchedValue> WatchedValues::inputs() {
  SmallVector<WatchedValue> values;
  for (BlockArgument argument : step.getArguments())
    if (auto name =
            step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), MpcDialect::kInputAttr))
      if (holdsNumbers(argument))
        values.push_back({argument, Value(), TraceDirection::Forward, "input", name.getValue(),
                          /*isScaled=*/false, /*isUpdate=*/false, /*part=*/{}});
  return values;
}

SmallVector<WatchedValue> WatchedValues::of(Operation *op) {
  llvm::MapVector<Value, Written> results;
  auto both = dyn_cast<mpcrt::InterleaveOp>(op);
  forEachCall(op, [&](Operation *call) {
    const auto &touched = uses.of(call);
    // Sums under way to other ranks belong to these until they are waited for.
    if (!touched || isa<mpcrt::AllReduceOp>(call))
      return;
    for (const BufferUse &use : *touched) {
      if (!use.isWritten || !holdsNumbers(use.base))
        continue;
      Written &written = results[use.base];
      written.base = use.base;
      written.call = call;
      written.isOfSteps |= call != op && movesWithSteps(use.buffer);
      written.isConsumed = both && both.getConsumed() && call == both.getProduct();
    }
  });
  SmallVector<WatchedValue> values;
  for (auto &[base, written] : results)
    if (std::optional<WatchedValue> value =
            variableOf(base) ? describeVariable(written) : describeResult(op, written))
      values.push_back(*value);
  return values;
}
