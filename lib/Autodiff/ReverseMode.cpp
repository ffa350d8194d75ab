// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reverse mode over DifferentiableOpInterface: one sweep, no knowledge of single ops.
#include "mpc/Autodiff/ReverseMode.h"
#include "dialects/mpc/IR/JoinPads.h"
#include "dialects/mpc/IR/Mpc.h"
#include "mpc/Analysis/Activity.h"

using namespace mlir;
using namespace mpc;

namespace {

constexpr llvm::StringLiteral kGradientSuffix = "/gradient";

/// `loc("dense_1")` becomes `loc("dense_1/gradient")`; locations without a name stay.
Location gradientLocation(Location loc) {
  auto named = loc->findInstanceOf<NameLoc>();
  if (!named || named.getName().getValue().ends_with(kGradientSuffix))
    return loc;
  return NameLoc::get(
      StringAttr::get(loc.getContext(), named.getName().getValue() + kGradientSuffix));
}

/// The listener before it hears of all that is built.
struct GradientLocations : OpBuilder::Listener {
  explicit GradientLocations(OpBuilder::Listener *next) : next(next) {}
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint previous) override {
    op->setLoc(gradientLocation(op->getLoc()));
    if (next)
      next->notifyOperationInserted(op, previous);
  }
  void notifyBlockInserted(Block *block, Region *previous, Region::iterator before) override {
    if (next)
      next->notifyBlockInserted(block, previous, before);
  }

  OpBuilder::Listener *next;
};

/// The cotangents of a value, which come rounded to its dtype or, from loops, wider.
struct Cotangent {
  Value narrow, wide;
};

class Sweep {
public:
  Sweep(OpBuilder &builder, const Activity &activity) : builder(builder), activity(activity) {}

  LogicalResult visit(Operation *op);
  void add(Value value, Value cotangent);
  /// The sum of all, in the value's dtype.
  Value cotangentOf(Value value);

private:
  /// Brings the wide cotangent of the result of an op that only moves elements, or has narrowed
  /// them, to its operand.
  LogicalResult passWide(Operation *op);

  OpBuilder &builder;
  const Activity &activity;
  llvm::DenseMap<Value, Cotangent> cotangents;
};

} // namespace

void Sweep::add(Value value, Value cotangent) {
  Cotangent &known = cotangents[value];
  Value &total = cotangent.getType() == value.getType() ? known.narrow : known.wide;
  if (!total) {
    total = cotangent;
    return;
  }
  // Slices of one value: each would be a tensor of the value's size otherwise, and an addition.
  Value joined = joinPads(builder, cotangent.getLoc(), total, cotangent);
  total = joined ? joined : Value(AddOp::create(builder, cotangent.getLoc(), total, cotangent));
}

Value Sweep::cotangentOf(Value value) {
  Cotangent &cotangent = cotangents[value];
  if (Value wide = std::exchange(cotangent.wide, Value()))
    add(value, CastOp::create(builder, wide.getLoc(), value.getType(), wide));
  return cotangents[value].narrow;
}

LogicalResult Sweep::passWide(Operation *op) {
  if (!op->hasTrait<PassesWideCotangent>())
    return success();
  Value operand = op->getOperand(0), moved;
  Value wide = cotangents[op->getResult(0)].wide;
  if (!wide || !activity.isActive(operand))
    return success();
  if (isa<CastOp>(op)) {
    if (operand.getType() != wide.getType())
      return success();
    moved = wide;
  } else if (failed(cast<DifferentiableOpInterface>(op).buildVjp(builder, wide, true, moved))) {
    return failure();
  }
  cotangents[op->getResult(0)].wide = Value();
  add(operand, moved);
  return success();
}

LogicalResult Sweep::visit(Operation *op) {
  if (failed(passWide(op)))
    return failure();
  SmallVector<Value> results =
      llvm::map_to_vector(op->getResults(), [&](Value v) { return cotangentOf(v); });
  SmallVector<bool> wanted = llvm::map_to_vector(
      op->getOperands(), [&](Value operand) { return activity.isActive(operand); });
  if (llvm::none_of(results, [](Value v) { return bool(v); }) ||
      llvm::none_of(wanted, [](bool w) { return w; }))
    return success();
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable)
    return op->emitError() << "'" << op->getName()
                           << "' has no derivative, but the loss depends on it";
  SmallVector<Value> operands(op->getNumOperands());
  if (failed(differentiable.buildVjp(builder, results, wanted, operands)))
    return failure();
  for (auto [operand, cotangent, isWanted] : llvm::zip_equal(op->getOperands(), operands, wanted)) {
    if (!isWanted || !cotangent)
      continue;
    auto type = tensorTypeOf(operand);
    if (cotangent.getType() != type &&
        cotangent.getType() != type.clone(widerOf32(type.getElementType())))
      return op->emitError() << "derivative has type " << cotangent.getType()
                             << " for an operand of type " << operand.getType();
    add(operand, cotangent);
  }
  return success();
}

LogicalResult mpc::buildGradients(OpBuilder &builder, Value dependent, Value seed,
                                  ArrayRef<Value> independents, SmallVectorImpl<Value> &gradients) {
  Block *block = builder.getInsertionBlock();
  SmallVector<Operation *> forward;
  for (Operation &op : llvm::make_range(block->begin(), builder.getInsertionPoint()))
    forward.push_back(&op);
  Activity activity(*block, independents, dependent);
  OpBuilder::Listener *previous = builder.getListener();
  GradientLocations locations(previous);
  builder.setListener(&locations);
  Sweep sweep(builder, activity);
  sweep.add(dependent, seed);
  LogicalResult status = success();
  for (Operation *op : llvm::reverse(forward))
    if (failed(sweep.visit(op)))
      status = failure();
  builder.setListener(previous);
  for (Value independent : independents)
    gradients.push_back(sweep.cotangentOf(independent));
  return status;
}
