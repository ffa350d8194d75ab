// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-differentiate: the entries of the compiled library.
#include "dialects/mpc/IR/Forms.h"
#include "lib/Autodiff/TrainStages.h"
#include "lib/Autodiff/TrainStep.h"
#include "lib/Autodiff/TrainedModel.h"
#include "mpc/Autodiff/Passes.h"
#include "mpc/Autodiff/ReverseMode.h"

namespace mpc {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "mpc/Autodiff/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

static void addStatefulUpdates(EntryBuilder &entry, const TrainedModel::Copy &copy) {
  for (const NamedValue &update : copy.updates)
    if (update.isStateful)
      entry.addUpdate(cast<FlatSymbolRefAttr>(update.name), update.value);
}

static LogicalResult buildPredict(ModuleOp module, TrainedModel &model) {
  EntryBuilder entry(module, EntryRole::Predict, model.forward.getLoc());
  model.addArguments(entry, /*withTargets=*/false);
  auto copy = model.emit(entry, Mode::Inference, /*withLoss=*/false);
  if (failed(copy))
    return failure();
  for (NamedValue output : copy->outputs)
    entry.addOutput(cast<StringAttr>(output.name), output.value);
  addStatefulUpdates(entry, *copy);
  entry.finish();
  return success();
}

static LogicalResult buildEvaluate(ModuleOp module, TrainedModel &model) {
  EntryBuilder entry(module, EntryRole::Evaluate, model.forward.getLoc());
  model.addArguments(entry, /*withTargets=*/true);
  auto copy = model.emit(entry, Mode::Inference, /*withLoss=*/true);
  if (failed(copy))
    return failure();
  entry.addOutput("loss", copy->loss);
  for (NamedValue update : copy->metricUpdates)
    entry.addUpdate(cast<FlatSymbolRefAttr>(update.name), update.value);
  addStatefulUpdates(entry, *copy);
  entry.finish();
  return success();
}

/// A gradient of zeros with the shape of `value`.
static Value zerosLike(OpBuilder &builder, Value value) {
  auto type = tensorTypeOf(value);
  if (type.hasStaticShape())
    return ConstantOp::create(builder, value.getLoc(), type, 0.0);
  Value zero = scalarConstant(builder, value.getLoc(), type.getElementType(), 0);
  return BroadcastLikeOp::create(builder, value.getLoc(), zero, value);
}

static LogicalResult buildGradientsEntry(ModuleOp module, TrainedModel &model) {
  EntryBuilder entry(module, EntryRole::Gradients, model.forward.getLoc());
  OpBuilder &builder = entry.builder;
  model.addArguments(entry, /*withTargets=*/true);
  auto copy = model.emit(entry, Mode::Training, /*withLoss=*/true);
  if (failed(copy))
    return failure();
  SmallVector<Value> independents;
  SmallVector<std::string> names;
  for (VariableOp variable : module.getOps<VariableOp>())
    if (variable.getRole() == VariableRole::Trainable) {
      independents.push_back(entry.variable(FlatSymbolRefAttr::get(variable.getSymNameAttr())));
      names.push_back("grad:" + variable.getSymName().str());
    }
  size_t variables = independents.size();
  for (BlockArgument argument : entry.function.getArguments()) {
    auto name = entry.attributesOf(argument).getAs<StringAttr>(MpcDialect::kInputAttr);
    if (name && isa<FloatType>(elementTypeOf(argument))) {
      independents.push_back(argument);
      names.push_back("gradx:" + name.str());
    }
  }
  Value seed = GradientSeedOp::create(builder, copy->loss.getLoc(), copy->loss.getType());
  SmallVector<Value> gradients;
  if (failed(buildGradients(builder, copy->loss, seed, independents, gradients)))
    return failure();
  shareEqualValues(seed.getDefiningOp());
  recomputeCheapValues(seed.getDefiningOp());
  remarkSavedValues(seed.getDefiningOp());
  entry.addOutput("loss", copy->loss);
  for (auto [i, gradient] : llvm::enumerate(gradients)) {
    if (!gradient)
      gradient = zerosLike(builder, independents[i]);
    auto type = tensorTypeOf(gradient).clone(builder.getF32Type());
    if (i < variables && gradient.getType() != type)
      gradient = CastOp::create(builder, gradient.getLoc(), type, gradient);
    entry.addOutput(names[i], gradient);
  }
  for (NamedValue output : copy->outputs)
    entry.addOutput(cast<StringAttr>(output.name), output.value);
  for (NamedValue update : copy->updates) {
    auto symbol = cast<FlatSymbolRefAttr>(update.name);
    if (!llvm::is_contained(names, "grad:" + symbol.getValue().str()))
      entry.addOutput("after:" + symbol.getValue().str(), update.value);
  }
  entry.finish();
  return success();
}

static LogicalResult differentiate(ModuleOp module, bool customLoop) {
  TrainedModel model{module.lookupSymbol<func::FuncOp>("forward"),
                     module.lookupSymbol<func::FuncOp>("loss")};
  if (!model.forward) {
    if (llvm::any_of(module.getOps<func::FuncOp>(), isEntry))
      return success(); // already done
    return module.emitError() << "has no function @forward to differentiate";
  }
  if (auto results = module.lookupSymbol<func::FuncOp>("metric_results"))
    results->setAttr(MpcDialect::kEntryAttr,
                     EntryRoleAttr::get(module.getContext(), EntryRole::MetricResults));
  for (uint32_t role = 0; role <= getMaxEnumValForEntryRole(); ++role)
    if (const StringRef name = stringifyEntryRole(static_cast<EntryRole>(role));
        EntryRole(role) != EntryRole::MetricResults && module.lookupSymbol(name))
      return module.lookupSymbol(name)->emitError()
             << "@" << name << " is the name of an entry that mpc-differentiate builds";
  if (failed(model.verify()) || failed(buildPredict(module, model)))
    return failure();
  auto optimizers = module.getOps<OptimizerOp>();
  if (model.loss) {
    if (failed(buildEvaluate(module, model)) || failed(buildGradientsEntry(module, model)))
      return failure();
    if (!optimizers.empty() &&
        failed(buildTrainStep(module, model, *optimizers.begin(), customLoop)))
      return failure();
    model.loss.erase();
  }
  for (auto entry : module.getOps<func::FuncOp>())
    if (isEntry(entry))
      keepForms(model.forward, entry);
  model.forward.erase();
  return success();
}

namespace {
struct DifferentiatePass : mpc::impl::DifferentiateBase<DifferentiatePass> {
  using DifferentiateBase::DifferentiateBase;
  void runOnModule() override {
    if (failed(differentiate(getOperation(), customLoop)))
      signalPassFailure();
  }
};
} // namespace
