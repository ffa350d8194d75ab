// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every layer by itself: its inputs are what float32 makes of the model up to there, so that its
// values are off by its own errors and not by those of other layers.
#include "lib/Numerics/Trace/ReportValues.h"
#include "mlir/IR/IRMapping.h"
#include "mpc/Analysis/TracedNames.h"

using namespace mlir;
using namespace mpc;

namespace {

class Separator {
public:
  explicit Separator(func::FuncOp entry)
      : block(entry.getBody().front()), builder(OpBuilder::atBlockBegin(&block)) {
    for (Operation &op : block.without_terminator())
      if (!isa<TraceOp>(op))
        ops.push_back(&op);
  }

  void run() {
    for (BlockArgument argument : block.getArguments())
      twins.map(argument, widen(argument));
    for (Operation *op : ops)
      addTwin(op);
    for (Operation *op : ops)
      takeTwins(op);
  }

private:
  Value widen(Value value) {
    Type wide = widenedType(value.getType());
    return wide == value.getType()
               ? value
               : CastOp::create(builder, value.getLoc(), wide, value).getResult();
  }

  /// Adds a copy of the op in float32, before all ops that there were.
  void addTwin(Operation *op) {
    if (auto cast = dyn_cast<CastOp>(op)) {
      Value input = twins.lookup(cast.getInput());
      if (input.getType() == widenedType(cast.getType())) {
        twins.map(cast.getResult(), input);
        return;
      }
    }
    if (Value exact = roundedToFloat8(op)) {
      twins.map(op->getResult(0), twins.lookup(exact));
      return;
    }
    Operation *twin = builder.clone(*op, twins);
    SmallVector<Operation *> inner;
    twin->walk<WalkOrder::PreOrder>([&](Operation *each) { inner.push_back(each); });
    for (Operation *each : inner)
      widenOp(each);
  }

  /// Results of other layers come from their twins.
  void takeTwins(Operation *op) {
    const StringRef layer = tracedLayerOf(op->getLoc());
    op->walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands()) {
        Operation *source = operand.get().getDefiningOp();
        if (source && source->getBlock() == &block && !isa<ConstantOp>(source) &&
            tracedLayerOf(source->getLoc()) != layer && twins.contains(operand.get()))
          operand.set(twinOf(operand.get()));
      }
    });
    // The layer that wrote the narrow type has rounded to it, not the one that widens.
    if (auto cast = dyn_cast<CastOp>(op))
      if (auto narrowed = cast.getInput().getDefiningOp<CastOp>();
          narrowed && narrow.count(narrowed) && narrowed.getInput().getType() == cast.getType())
        cast.getResult().replaceAllUsesWith(narrowed.getInput());
  }

  /// The twin in the value's own type.
  Value twinOf(Value value) {
    Value &known = inOwnType[value];
    if (known)
      return known;
    known = twins.lookup(value);
    if (known.getType() != value.getType()) {
      auto cast = CastOp::create(builder, value.getLoc(), value.getType(), known);
      narrow.insert(cast);
      known = cast;
    }
    return known;
  }

  Block &block;
  OpBuilder builder; // at the place before the first op that there was
  SmallVector<Operation *> ops;
  IRMapping twins;
  llvm::DenseMap<Value, Value> inOwnType;
  llvm::DenseSet<Operation *> narrow;
};

} // namespace

void mpc::separateLayers(func::FuncOp entry) { Separator(entry).run(); }
