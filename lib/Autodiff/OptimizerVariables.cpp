// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Declares the variables of an optimizer under Keras's names, in Keras's order.
#include "lib/Autodiff/TrainStep.h"

using namespace mlir;
using namespace mpc;

namespace {
struct Declarations {
  OpBuilder builder;
  Location loc;
  std::string prefix;

  /// `isListed`: by a LossScaleOptimizer around the optimizer, too, as what Keras makes by
  /// add_variable.
  FlatSymbolRefAttr declare(const Twine &name, Type type, InitializerKind kind, double value = 0,
                            bool isListed = true) {
    MLIRContext *context = builder.getContext();
    auto symbol = builder.getStringAttr(prefix + name);
    auto initializer = InitializerAttr::get(context, kind, builder.getF64FloatAttr(value),
                                            builder.getF64FloatAttr(0));
    auto variable = VariableOp::create(builder, loc, symbol, TypeAttr::get(type),
                                       VariableRoleAttr::get(context, VariableRole::Optimizer),
                                       /*layer=*/StringAttr(), initializer,
                                       /*regularizer=*/RegularizerAttr(),
                                       /*constraint=*/ConstraintAttr(),
                                       /*autocast=*/builder.getBoolAttr(false),
                                       /*shadow_of=*/FlatSymbolRefAttr(),
                                       /*own_type=*/TypeAttr());
    variable.setUnlistedWhenScaled(!isListed);
    return FlatSymbolRefAttr::get(symbol);
  }

  /// keras: add_variable_from_reference, whose name is the path with underscores.
  FlatSymbolRefAttr declareFor(VariableOp variable, StringRef suffix) {
    return declareSlot(variable, {suffix, cast<RankedTensorType>(variable.getType())});
  }

  FlatSymbolRefAttr declareSlot(VariableOp variable, const OptimizerSlot &slot) {
    std::string name = variable.getSymName().str();
    std::replace(name.begin(), name.end(), '/', '_');
    return declare(Twine(name) + "_" + slot.name, slot.type,
                   slot.initial == 0 ? InitializerKind::Zeros : InitializerKind::Constant,
                   slot.initial, !slot.isPlaceholder);
  }
};
} // namespace

bool mpc::isOverwritten(VariableOp variable) { return variable.getOverwriteWithGradient(); }

OptimizerState mpc::declareOptimizerVariables(ModuleOp module, OptimizerOp optimizer,
                                              ArrayRef<VariableOp> trainable) {
  Operation *last = optimizer;
  for (VariableOp variable : module.getOps<VariableOp>())
    last = variable;
  Declarations declarations{OpBuilder(module.getContext()), optimizer.getLoc(),
                            "optimizer/" + optimizer.getName().str() + "/"};
  OpBuilder &builder = declarations.builder;
  builder.setInsertionPointAfter(last);
  OptimizerState state;
  state.iteration = declarations.declare(
      "iteration", RankedTensorType::get({}, builder.getI64Type()), InitializerKind::Zeros);
  if (!optimizer.getSchedule())
    state.learningRate = declarations.declare(
        "learning_rate", RankedTensorType::get({}, builder.getF32Type()), InitializerKind::Constant,
        optimizer.getLearningRate().convertToDouble());
  state.parameters.resize(trainable.size());
  if (optimizer.getEmaMomentum())
    for (auto [variable, parameter] : llvm::zip_equal(trainable, state.parameters))
      if (!isOverwritten(variable))
        parameter.average = declarations.declareFor(variable, "average");
  if (optimizer.getAccumulationSteps())
    for (auto [variable, parameter] : llvm::zip_equal(trainable, state.parameters))
      parameter.accumulator = declarations.declareFor(variable, "gradient_accumulator");
  auto rule = cast<OptimizerRuleAttrInterface>(optimizer.getRule());
  size_t interleaved = rule.getInterleavedSlotCount(), most = 0;
  SmallVector<SmallVector<OptimizerSlot>> slots;
  Type wide = builder.getF32Type();
  for (size_t i = 0; i < trainable.size(); ++i) {
    VariableOp variable = trainable[i];
    ParameterState &parameter = state.parameters[i];
    auto type = cast<RankedTensorType>(variable.getType());
    if (i == 0)
      wide = widerOf32(type.getElementType());
    parameter.rule = rule.getRuleFor(variable.getSymName(), type);
    slots.push_back(isOverwritten(variable) ? SmallVector<OptimizerSlot>()
                                            : parameter.rule.getSlots(type));
    most = std::max(most, slots.back().size());
  }
  auto declareSlots = [&](size_t begin, size_t end) {
    for (auto [variable, parameter, own] : llvm::zip_equal(trainable, state.parameters, slots))
      for (size_t slot = begin; slot < std::min(end, own.size()); ++slot)
        parameter.slots.push_back(declarations.declareSlot(variable, own[slot]));
  };
  declareSlots(0, std::min(interleaved, most));
  for (size_t slot = interleaved; slot < most; ++slot)
    declareSlots(slot, slot + 1);
  // Keras gives these no path of the optimizer's own.
  declarations.prefix = "optimizer/";
  for (const OptimizerScalar &scalar : rule.getSharedScalars())
    state.shared.push_back(declarations.declare(scalar.name, RankedTensorType::get({}, wide),
                                                InitializerKind::Constant, scalar.initial,
                                                /*isListed=*/false));
  return state;
}
