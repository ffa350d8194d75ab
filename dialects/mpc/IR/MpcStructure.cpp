// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Variables and layers.
#include "dialects/mpc/IR/Mpc.h"

#include <cmath>

using namespace mlir;
using namespace mpc;

void VariableOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                       RankedTensorType type, VariableRole role, InitializerAttr initializer) {
  build(builder, state, builder.getStringAttr(name), TypeAttr::get(type),
        VariableRoleAttr::get(builder.getContext(), role), /*layer=*/StringAttr(), initializer,
        /*regularizer=*/RegularizerAttr(), /*constraint=*/ConstraintAttr(),
        /*autocast=*/builder.getBoolAttr(true),
        /*shadow_of=*/FlatSymbolRefAttr(), /*own_type=*/TypeAttr());
}

LogicalResult VariableOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !type.hasStaticShape())
    return emitOpError() << "must have a static shape, got " << getType();
  if (!isAddressable(type))
    return emitOpError() << "has more than 2^47 bytes: " << type;
  bool floating = isa<FloatType>(type.getElementType());
  if (getRole() == VariableRole::Trainable && !floating)
    return emitOpError() << "trainable variables are floating, got " << type;
  if (getConstraint()) {
    // One that is frozen keeps it for the time when it trains.
    if (getRole() != VariableRole::Trainable && getRole() != VariableRole::NonTrainable)
      return emitOpError() << "only variables of layers have a constraint";
    int64_t next = 0; // axes ascend and stay in the rank
    for (int64_t axis : getConstraint()->getAxes()) {
      if (axis < next || axis >= type.getRank())
        return emitOpError() << "constraint axes must ascend and name dimensions of " << type;
      next = axis + 1;
    }
  }
  if ((getRole() == VariableRole::Shadow) != getShadowOf().has_value())
    return emitOpError() << "role shadow and shadow_of belong together";
  if (getUnlistedWhenScaled() && getRole() != VariableRole::Optimizer)
    return emitOpError() << "unlisted_when_scaled is for variables of the role optimizer";
  return success();
}

/// Training computes in float32, however the attribute is stored.
static bool isFiniteInFloat32(const APFloat &value) {
  return std::isfinite(float(value.convertToDouble()));
}

LogicalResult OptimizerOp::verify() {
  if (!isFiniteInFloat32(getLearningRate()))
    return emitOpError() << "learning_rate must be finite in float32";
  if (getDecay() && (!isFiniteInFloat32(*getDecay()) || getDecay()->isNegative()))
    return emitOpError() << "decay must be finite in float32 and not negative";
  if (getAverageFromVariable() && !getEmaMomentum())
    return emitOpError() << "average_from_variable needs ema_momentum";
  for (auto [name, steps] : {std::pair{"accumulation_steps", getAccumulationSteps()},
                             {"ema_overwrite_frequency", getEmaOverwriteFrequency()}})
    if (steps && static_cast<int64_t>(*steps) < 1)
      return emitOpError() << name << " must be at least 1, got " << static_cast<int64_t>(*steps);
  return success();
}

static LogicalResult verifyVariables(Operation *op, StringRef what, ArrayRef<Attribute> names,
                                     SymbolTableCollection &symbols) {
  for (Attribute name : names)
    if (!symbols.lookupNearestSymbolFrom<VariableOp>(op, cast<FlatSymbolRefAttr>(name)))
      return op->emitOpError() << what << " names " << name << ", which no mpc.variable declares";
  return success();
}

LogicalResult OptimizerOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return getUndecayed() ? verifyVariables(*this, "undecayed", getUndecayed()->getValue(), symbols)
                        : success();
}

LogicalResult MetricOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyVariables(*this, "states", getStates().getValue(), symbols);
}

LogicalResult LossScaleOp::verify() {
  if (!isFiniteInFloat32(getInitial()) || !(float(getInitial().convertToDouble()) > 0))
    return emitOpError() << "initial must be positive and finite in float32";
  for (std::optional<APFloat> limit : {getMinimum(), getMaximum()})
    if (limit && !isFiniteInFloat32(*limit))
      return emitOpError() << "limits must be finite in float32";
  if (getMinimum() && getMaximum() && *getMinimum() > *getMaximum())
    return emitOpError() << "minimum must not exceed maximum";
  return success();
}

LogicalResult MetricOp::verify() {
  if (!llvm::all_of(getStates(), llvm::IsaPred<FlatSymbolRefAttr>))
    return emitOpError() << "states must be symbols of variables";
  if (getComputed() && getRoot())
    return emitOpError() << "a computed result takes no root";
  if (!getComputed() && getStates().size() != 2)
    return emitOpError() << "total and count are two states, got " << getStates().size()
                         << "; other results are computed";
  return success();
}

LogicalResult RegularizerAttr::verify(function_ref<InFlightDiagnostic()> emitError, FloatAttr l1,
                                      FloatAttr l2, FloatAttr rows, FloatAttr columns) {
  for (FloatAttr factor : {l1, l2, rows, columns})
    if (factor && (!isFiniteInFloat32(factor.getValue()) || factor.getValueAsDouble() < 0))
      return emitError() << "factors must be finite in float32 and not negative, got " << factor;
  return success();
}

LogicalResult ConstraintAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                     ConstraintKind kind, ArrayRef<int64_t> axes, FloatAttr min,
                                     FloatAttr max, FloatAttr rate) {
  bool isMinMax = kind == ConstraintKind::MinMaxNorm;
  if ((kind == ConstraintKind::NonNegative) != axes.empty())
    return emitError() << "axes belong to every constraint on a norm and to no other";
  if (isMinMax != bool(min) || isMinMax != bool(rate))
    return emitError() << "min and rate belong to min_max_norm and to no other";
  if ((isMinMax || kind == ConstraintKind::MaxNorm) != bool(max))
    return emitError() << "max belongs to max_norm and min_max_norm and to no other";
  return success();
}

LogicalResult LayerOp::verify() {
  Block &body = getBody().front();
  if (body.getNumArguments() != getNumOperands())
    return emitOpError() << "body has " << body.getNumArguments() << " arguments for "
                         << getNumOperands() << " operands";
  for (auto [argument, operand] : llvm::zip_equal(body.getArguments(), getOperands()))
    if (argument.getType() != operand.getType())
      return emitOpError() << "body argument " << argument.getArgNumber() << " has type "
                           << argument.getType() << " for an operand of type " << operand.getType();
  auto yield = cast<YieldOp>(body.getTerminator());
  if (yield.getValues().getTypes() != getResultTypes())
    return emitOpError() << "yields other types than its results have";
  if (getUpdates() && getUpdates()->size() != getNumResults())
    return emitOpError() << "updates has " << getUpdates()->size() << " entries for "
                         << getNumResults() << " results";
  if (getQuantizedPolicy() && !getPrecision())
    return emitOpError() << "quantized_policy is for layers with a precision";
  return success();
}
