// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ops of a training step: verifiers, what an optimizer step stands for, reference values.
#include "dialects/mpc/IR/Mpc.h"

#include <cmath>

using namespace mlir;
using namespace mpc;

LogicalResult OptimizerStepOp::verify() {
  auto rule = cast<OptimizerRuleAttrInterface>(getRule());
  auto variable = tensorTypeOf(getVariable());
  SmallVector<OptimizerSlot> declared = rule.getSlots(variable);
  size_t slots = declared.size();
  if (getSlots().size() != slots)
    return emitOpError() << "rule has " << slots << " slots, got " << getSlots().size();
  if (size_t shared = rule.getSharedScalars().size(); getShared().size() != shared)
    return emitOpError() << "rule has " << shared << " shared scalars, got " << getShared().size();
  if (getNumResults() < slots + 1)
    return emitOpError() << "returns the variable and each slot";
  auto shape = variable.getShape();
  if (tensorTypeOf(getGradient()).getShape() != shape)
    return emitOpError() << "gradient must have the variable's shape";
  if (getPowers() && tensorTypeOf(getPowers()).getShape() != shape)
    return emitOpError() << "powers must have the variable's shape";
  if (anyStartsAsVariable(declared) != bool(getStart()))
    return emitOpError() << "start and slots that start as the variable belong together";
  if (getPowers() && rule.getPowerOfParts() == 0)
    return emitOpError() << "rule takes no powers of a gradient's parts";
  for (auto [slot, expected] : llvm::zip_equal(getSlots(), declared))
    if (tensorTypeOf(slot).getShape() != expected.type.getShape())
      return emitOpError() << "slot '" << expected.name << "' must have the shape of "
                           << expected.type;
  if (getResult(0).getType() != getVariable().getType())
    return emitOpError() << "first result must have the variable's type";
  for (auto [slot, result] : llvm::zip(getSlots(), getResults().drop_front()))
    if (slot.getType() != result.getType())
      return emitOpError() << "slot results must have the slots' types";
  for (Value shadow : getResults().drop_front(slots + 1))
    if (tensorTypeOf(shadow).getShape() != shape)
      return emitOpError() << "shadows must have the variable's shape";
  return success();
}

LogicalResult AllReduceOp::verify() {
  const ReduceKind kind = getKind();
  if (kind != ReduceKind::Sum && kind != ReduceKind::Max && kind != ReduceKind::Min)
    return emitOpError() << "ranks reduce by sum, max or min, not " << stringifyReduceKind(kind);
  if (getBefore() && kind != ReduceKind::Sum)
    return emitOpError() << "has no " << stringifyReduceKind(kind) << " of the ranks before";
  if (getInBfloat16() &&
      (kind != ReduceKind::Sum || getBefore() || !elementTypeOf(getInput()).isF32()))
    return emitOpError() << "goes in bfloat16, which sums of f32 alone may";
  if (!tensorTypeOf(getInput()).hasStaticShape())
    return emitOpError() << "reduces what ranks have in one shape, not the samples of a batch";
  return success();
}

LogicalResult AllReduceOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                    MutableArrayRef<ReferenceTensor> results) {
  results[0] = operands[0]; // of one rank
  if (!getBefore())
    return success();
  for (int64_t i = 0, count = results[0].size(); i < count; ++i)
    results[0].set(i, 0);
  return success();
}

Value mpc::decayWeight(OpBuilder &builder, Location loc, Value variable, FloatAttr decay,
                       Value rate) {
  Value factor = scalarConstant(builder, loc, elementTypeOf(variable), decay.getValueAsDouble());
  Value lost =
      MultiplyOp::create(builder, loc, MultiplyOp::create(builder, loc, variable, factor), rate);
  return SubtractOp::create(builder, loc, variable, lost);
}

SmallVector<Value> mpc::startSlots(OpBuilder &builder, OptimizerStepOp step, Value variable,
                                   ValueRange slots, Value start) {
  SmallVector<Value> started(slots);
  if (!start)
    return started;
  auto declared =
      cast<OptimizerRuleAttrInterface>(step.getRule()).getSlots(tensorTypeOf(step.getVariable()));
  for (auto [slot, value] : llvm::zip_equal(declared, started))
    if (slot.startsAsVariable)
      value = SelectOp::create(builder, step.getLoc(), start, variable, value);
  return started;
}

SmallVector<Value> mpc::expandOptimizerStep(OpBuilder &builder, OptimizerStepOp step) {
  Location loc = step.getLoc();
  Type wide = widerOf32(elementTypeOf(step.getVariable()));
  auto widen = [&](Value value) { return castElements(builder, loc, value, wide); };
  Value gradient = widen(step.getGradient());
  if (step.getUnscale())
    gradient = DivideOp::create(builder, loc, gradient, widen(step.getUnscale()));
  SmallVector<Value> slots = llvm::map_to_vector(step.getSlots(), widen);
  SmallVector<Value> old{widen(step.getVariable())};
  slots = startSlots(builder, step, old.front(), slots, step.getStart());
  llvm::append_range(old, slots);
  Value rate = widen(step.getLearningRate()), variable = old.front();
  if (FloatAttr decay = step.getWeightDecayAttr())
    variable = decayWeight(builder, loc, variable, decay, rate);
  auto rule = cast<OptimizerRuleAttrInterface>(step.getRule());
  SmallVector<Value> shared = llvm::map_to_vector(step.getShared(), widen);
  SmallVector<Value> results = rule.buildUpdate(
      builder, loc, variable, gradient, step.getPowers() ? widen(step.getPowers()) : Value(), slots,
      shared, rate, widen(step.getIteration()));
  if (Value predicate = step.getPredicate())
    for (auto [result, value] : llvm::zip_equal(results, old))
      result = SelectOp::create(builder, loc, predicate, result, value);
  while (results.size() < step.getNumResults()) // shadows
    results.push_back(results.front());
  for (auto [result, declared] : llvm::zip_equal(results, step.getResults()))
    result = castElements(builder, loc, result, elementTypeOf(declared));
  return results;
}

LogicalResult OptimizerStepOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                        MutableArrayRef<ReferenceTensor> results) {
  // A scratch function that computes what the step stands for, from the step's own operands.
  OpBuilder builder(getContext());
  auto function = func::FuncOp::create(
      getLoc(), "step",
      builder.getFunctionType(getOperation()->getOperandTypes(), getOperation()->getResultTypes()));
  OwningOpRef<func::FuncOp> owner(function);
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToEnd(block);
  auto copy = cast<OptimizerStepOp>(builder.clone(*getOperation()));
  copy->setOperands(block->getArguments());
  SmallVector<Value> values = expandOptimizerStep(builder, copy);
  copy->erase();
  func::ReturnOp::create(builder, getLoc(), values);
  SmallVector<ReferenceTensor> computed;
  if (failed(evaluateBlock(*block, operands, computed)))
    return failure();
  llvm::move(computed, results.begin());
  return success();
}

LogicalResult LogitsOp::verify() {
  if ((getOf() == LogitsOf::Softmax) != getAxis().has_value())
    return emitOpError() << "of softmax need an axis, those of sigmoid have none";
  const int64_t rank = tensorTypeOf(getProbabilities()).getRank();
  if (int64_t axis = getAxis().value_or(0); getAxis() && (axis < 0 || axis >= rank))
    return emitOpError() << "axis " << axis << " is out of range for rank " << rank;
  return success();
}

LogicalResult GradientSeedOp::evaluate(ArrayRef<ReferenceTensor>,
                                       MutableArrayRef<ReferenceTensor> results) {
  startReference(results[0], elementTypeOf(getResult()), {});
  results[0].floats[0] = 1;
  return success();
}

LogicalResult LogitsOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                 MutableArrayRef<ReferenceTensor> results) {
  results[0] = operands[0];
  startReference(results[1], elementTypeOf(getKnown()), {});
  results[1].integers[0] = 0;
  return success();
}

LogicalResult VariableGradientOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                           MutableArrayRef<ReferenceTensor> results) {
  results[0] = operands[0];
  return success();
}

LogicalResult AllFiniteOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                    MutableArrayRef<ReferenceTensor> results) {
  startReference(results[0], elementTypeOf(getResult()), {});
  results[0].integers[0] = llvm::all_of(operands, [](const ReferenceTensor &tensor) {
    return llvm::all_of(tensor.floats, [](double x) { return std::isfinite(x); });
  });
  return success();
}

/// Tests what a float was widened from.
LogicalResult AllFiniteOp::canonicalize(AllFiniteOp op, PatternRewriter &rewriter) {
  auto original = [](Value value) {
    auto cast = value.getDefiningOp<CastOp>();
    auto from = cast ? dyn_cast<FloatType>(elementTypeOf(cast.getInput())) : FloatType();
    if (!from || !llvm::APFloat::isRepresentableBy(
                     from.getFloatSemantics(),
                     llvm::cast<FloatType>(elementTypeOf(value)).getFloatSemantics()))
      return value;
    return Value(cast.getInput());
  };
  SmallVector<Value> inputs = llvm::map_to_vector(op.getInputs(), original);
  if (llvm::equal(inputs, op.getInputs()))
    return rewriter.notifyMatchFailure(op, "no operand is a widened float");
  rewriter.modifyOpInPlace(op, [&] { op.getInputsMutable().assign(inputs); });
  return success();
}

static rules::LossScaleRule makeRule(int64_t growthSteps, std::optional<APFloat> minimum,
                                     std::optional<APFloat> maximum) {
  rules::LossScaleRule rule;
  rule.growthSteps = growthSteps;
  if (minimum)
    rule.minimum = float(minimum->convertToDouble());
  if (maximum)
    rule.maximum = float(maximum->convertToDouble());
  return rule;
}

rules::LossScaleRule LossScaleOp::getRule() {
  return makeRule(getGrowthSteps().value_or(0), getMinimum(), getMaximum());
}

rules::LossScaleRule LossScaleUpdateOp::getRule() {
  return makeRule(int64_t(getGrowthSteps()), getMinimum(), getMaximum());
}

LogicalResult LossScaleUpdateOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                          MutableArrayRef<ReferenceTensor> results) {
  rules::HostArithmetic numbers;
  auto next =
      rules::advanceLossScale(numbers, float(operands[0].floats[0]), operands[1].integers[0],
                              operands[2].integers[0] != 0, getRule());
  startReference(results[0], operands[0].elementType, {});
  startReference(results[1], operands[1].elementType, {});
  results[0].set(0, next.scale);
  results[1].integers[0] = next.counter;
  return success();
}
