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

  FlatSymbolRefAttr declare(const Twine &name, Type type, InitializerKind kind, double value = 0) {
    MLIRContext *context = builder.getContext();
    auto symbol = builder.getStringAttr(prefix + name);
    auto initializer = InitializerAttr::get(context, kind, builder.getF64FloatAttr(value),
                                            builder.getF64FloatAttr(0));
    VariableOp::create(builder, loc, symbol, TypeAttr::get(type),
                       VariableRoleAttr::get(context, VariableRole::Optimizer),
                       /*layer=*/StringAttr(), initializer,
                       /*regularizer=*/RegularizerAttr(), /*constraint=*/ConstraintAttr(),
                       /*autocast=*/builder.getBoolAttr(false),
                       /*shadow_of=*/FlatSymbolRefAttr());
    return FlatSymbolRefAttr::get(symbol);
  }

  /// keras: add_variable_from_reference, whose name is the path with underscores.
  FlatSymbolRefAttr declareFor(VariableOp variable, StringRef suffix, double value = 0) {
    std::string name = variable.getSymName().str();
    std::replace(name.begin(), name.end(), '/', '_');
    return declare(Twine(name) + "_" + suffix, variable.getType(),
                   value == 0 ? InitializerKind::Zeros : InitializerKind::Constant, value);
  }
};
} // namespace

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
      parameter.average = declarations.declareFor(variable, "average");
  if (optimizer.getAccumulationSteps())
    for (auto [variable, parameter] : llvm::zip_equal(trainable, state.parameters))
      parameter.accumulator = declarations.declareFor(variable, "gradient_accumulator");
  auto rule = cast<OptimizerRuleAttrInterface>(optimizer.getRule());
  SmallVector<StringRef> names = rule.getSlotNames();
  unsigned interleaved = rule.getInterleavedSlotCount();
  auto declareSlots = [&](size_t begin, size_t end) {
    for (auto [variable, parameter] : llvm::zip_equal(trainable, state.parameters))
      for (size_t slot = begin; slot < end; ++slot)
        parameter.slots.push_back(
            declarations.declareFor(variable, names[slot], rule.getInitialSlotValue(slot)));
  };
  declareSlots(0, std::min<size_t>(interleaved, names.size()));
  for (size_t slot = interleaved; slot < names.size(); ++slot)
    declareSlots(slot, slot + 1);
  return state;
}
