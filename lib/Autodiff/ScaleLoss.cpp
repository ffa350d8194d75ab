// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-scale-loss: the optimizer as keras/src/optimizers/loss_scale_optimizer.py wraps it.
#include "dialects/mpc/IR/Arithmetic.h"
#include "lib/Autodiff/TrainStages.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "mpc/Autodiff/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_SCALELOSS
#include "mpc/Autodiff/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {

constexpr llvm::StringLiteral kScalerPrefix = "optimizer/loss_scale_optimizer/";

/// One function whose gradients are marked, or one stage of such a function.
class Scaling {
public:
  Scaling(func::FuncOp function, LossScaleOp declaration)
      : function(function), declaration(declaration), builder(function.getContext()) {}

  void run();

private:
  Value variable(FlatSymbolRefAttr symbol);
  void scaleSeeds(Value scale);
  Value testGradients(ArrayRef<VariableGradientOp> markers);
  void unscale(VariableGradientOp marker, Value scale);
  void predicate(Value finite);
  void predicateStep(OptimizerStepOp step, Value finite);
  bool isVariable(Value value);
  Value skippedValue(Value updated, FlatSymbolRefAttr symbol);
  bool keepsOldValues(OptimizerStepOp step);
  Value finiteArgument();
  void addScaleUpdate(Value scale, Value finite);
  void addResult(unsigned index, Value value, NamedAttribute attribute);
  FlatSymbolRefAttr scalerSymbol(StringRef name) {
    return FlatSymbolRefAttr::get(builder.getContext(), (kScalerPrefix + name).str());
  }

  func::FuncOp function;
  LossScaleOp declaration;
  OpBuilder builder;
  llvm::DenseSet<Operation *> predicated;
};

} // namespace

/// The argument that holds a variable's old value; added at the end when there is none.
Value Scaling::variable(FlatSymbolRefAttr symbol) {
  for (BlockArgument argument : function.getArguments())
    if (function.getArgAttr(argument.getArgNumber(), MpcDialect::kVariableAttr) == symbol)
      return argument;
  auto declared = SymbolTable::lookupNearestSymbolFrom<VariableOp>(function, symbol);
  unsigned index = function.getNumArguments();
  NamedAttribute name = builder.getNamedAttr(MpcDialect::kVariableAttr, symbol);
  (void)function.insertArgument(index, declared.getType(), builder.getDictionaryAttr(name),
                                function.getLoc());
  return function.getArgument(index);
}

/// Whether the "gradient" is the variable's new value, which no scale is in.
static bool isOverwritten(VariableGradientOp marker) {
  auto variable =
      SymbolTable::lookupNearestSymbolFrom<VariableOp>(marker, marker.getVariableAttr());
  return variable && variable.getOverwriteWithGradient();
}

/// Users of the marker see its gradient divided by the scale in float32 (float64); a 16-bit
/// gradient that is widened next is divided after the widening, so that nothing rounds twice.
void Scaling::unscale(VariableGradientOp marker, Value scale) {
  Value gradient = marker.getGradient(), wide, narrow;
  Arithmetic a{builder, marker.getLoc(), widerOf32(elementTypeOf(gradient))};
  builder.setInsertionPoint(marker);
  auto divided = [&] {
    if (!wide)
      wide = a.div(a.widen(gradient), a.widen(scale));
    return wide;
  };
  for (OpOperand &use : llvm::make_early_inc_range(marker.getResult().getUses())) {
    Operation *user = use.getOwner();
    auto step = dyn_cast<OptimizerStepOp>(user);
    if (step && !step.getUnscale() && &use == &step.getGradientMutable()) {
      use.set(gradient);
      step.getUnscaleMutable().assign(scale);
    } else if (auto cast = dyn_cast<CastOp>(user); cast && elementTypeOf(cast) == a.element) {
      cast.getResult().replaceAllUsesWith(divided());
    } else {
      if (!narrow)
        narrow = a.cast(divided(), elementTypeOf(gradient));
      use.set(narrow);
    }
  }
}

bool Scaling::isVariable(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && function.getArgAttr(argument.getArgNumber(), MpcDialect::kVariableAttr);
}

/// Whether a step whose predicate is false returns what the variables held before the call.
bool Scaling::keepsOldValues(OptimizerStepOp step) {
  return isVariable(step.getVariable()) &&
         llvm::all_of(step.getSlots(), [&](Value slot) { return isVariable(slot); });
}

/// In the last stage the finite test is the caller's.
Value Scaling::finiteArgument() {
  unsigned index = 0;
  while (index < function.getNumArguments() &&
         !function.getArgAttr(index, MpcDialect::kVariableAttr))
    ++index;
  NamedAttribute name =
      builder.getNamedAttr(MpcDialect::kInputAttr, builder.getStringAttr(kFinite));
  (void)function.insertArgument(index, RankedTensorType::get({}, builder.getI1Type()),
                                builder.getDictionaryAttr(name), function.getLoc());
  return function.getArgument(index);
}

void Scaling::predicateStep(OptimizerStepOp step, Value finite) {
  if (!predicated.insert(step).second)
    return;
  if (Value own = step.getPredicate()) {
    builder.setInsertionPoint(step);
    finite = LogicalAndOp::create(builder, step.getLoc(), own, finite);
  }
  step.getPredicateMutable().assign(finite);
}

/// The value that a variable has when its step is skipped: that which the call was given, or which
/// the forward pass made of it (SpectralNormalization assigns kernels, and Keras skips the
/// optimizer alone).
Value Scaling::skippedValue(Value updated, FlatSymbolRefAttr symbol) {
  // Constraints and averages stand behind the step.
  SmallVector<Value> pending{updated};
  llvm::DenseSet<Value> seen;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second)
      continue;
    if (auto step = dyn_cast<OptimizerStepOp>(op)) {
      if (value == step.getResult(0) && !isVariable(step.getVariable()))
        return step.getVariable();
      continue;
    }
    llvm::append_range(pending, op->getOperands());
  }
  return variable(symbol);
}

void Scaling::predicate(Value finite) {
  Operation *terminator = function.getBody().front().getTerminator();
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto symbol = function.getResultAttrOfType<FlatSymbolRefAttr>(i, MpcDialect::kUpdatesAttr);
    if (!symbol)
      continue;
    auto role = SymbolTable::lookupNearestSymbolFrom<VariableOp>(function, symbol).getRole();
    if (role != VariableRole::Trainable && role != VariableRole::Optimizer)
      continue;
    Value value = terminator->getOperand(i);
    if (auto step = value.getDefiningOp<OptimizerStepOp>(); step && keepsOldValues(step)) {
      predicateStep(step, finite);
      continue;
    }
    Value old = role == VariableRole::Trainable ? skippedValue(value, symbol) : variable(symbol);
    if (value == old)
      continue;
    builder.setInsertionPoint(terminator);
    terminator->setOperand(i, SelectOp::create(builder, value.getLoc(), finite, value, old));
  }
}

void Scaling::addResult(unsigned index, Value value, NamedAttribute attribute) {
  (void)function.insertResult(index, value.getType(), builder.getDictionaryAttr(attribute));
  function.getBody().front().getTerminator()->insertOperands(index, value);
}

void Scaling::scaleSeeds(Value scale) {
  for (GradientSeedOp seed : llvm::make_early_inc_range(function.getOps<GradientSeedOp>())) {
    Arithmetic a{builder, seed.getLoc(), elementTypeOf(seed)};
    builder.setInsertionPoint(seed);
    seed.replaceAllUsesWith(a.widen(scale));
    seed.erase();
  }
}

/// Whether all gradients are finite, before anything divides them; null in a stage without any.
Value Scaling::testGradients(ArrayRef<VariableGradientOp> markers) {
  if (entryRoleOf(function) == EntryRole::TrainApply)
    return finiteArgument();
  if (markers.empty())
    return {};
  builder.setInsertionPoint(markers.front());
  SmallVector<Value> gradients =
      llvm::map_to_vector(markers, [](VariableGradientOp m) -> Value { return m.getGradient(); });
  return AllFiniteOp::create(builder, function.getLoc(),
                             RankedTensorType::get({}, builder.getI1Type()), gradients);
}

/// The next scale and counter, and whether this step was done, as results.
void Scaling::addScaleUpdate(Value scale, Value finite) {
  builder.setInsertionPoint(function.getBody().front().getTerminator());
  auto update = LossScaleUpdateOp::create(
      builder, function.getLoc(), scale, variable(scalerSymbol("step_counter")), finite,
      declaration.getGrowthStepsAttr(), declaration.getMinimumAttr(), declaration.getMaximumAttr());
  unsigned outputs = 0;
  while (outputs < function.getNumResults() &&
         function.getResultAttr(outputs, MpcDialect::kOutputAttr))
    ++outputs;
  addResult(outputs, finite,
            builder.getNamedAttr(MpcDialect::kOutputAttr, builder.getStringAttr(kFinite)));
  addResult(function.getNumResults(), update.getNewCounter(),
            builder.getNamedAttr(MpcDialect::kUpdatesAttr, scalerSymbol("step_counter")));
  addResult(function.getNumResults(), update.getNewScale(),
            builder.getNamedAttr(MpcDialect::kUpdatesAttr, scalerSymbol("dynamic_scale")));
}

void Scaling::run() {
  SmallVector<VariableGradientOp> markers(function.getOps<VariableGradientOp>());
  // Gradients for the user (no markers, no stage of a step) are not scaled.
  const bool scales =
      declaration && (!markers.empty() || entryRoleOf(function) == EntryRole::TrainApply ||
                      entryRoleOf(function) == EntryRole::TrainBackward);
  const bool isDynamic = scales && declaration.getGrowthSteps();
  const double initial = scales ? declaration.getInitial().convertToDouble() : 1.0;
  builder.setInsertionPointToStart(&function.getBody().front());
  Value scale = isDynamic
                    ? variable(scalerSymbol("dynamic_scale"))
                    : scalarConstant(builder, function.getLoc(), builder.getF32Type(), initial);
  scaleSeeds(scale);
  Value finite = isDynamic ? testGradients(markers) : Value();
  for (VariableGradientOp marker : markers) {
    if (scales && !isOverwritten(marker))
      unscale(marker, scale);
    marker.replaceAllUsesWith(marker.getGradient());
    marker.erase();
  }
  if (!scales || (markers.empty() && !finite))
    return;
  remark::passed(function.getLoc(), remark::RemarkOpts::name("loss-scaling")
                                        .category("mpc-scaling")
                                        .function(function.getSymName()))
      << remark::add("{0} scale, initial={1}, gradients={2}", isDynamic ? "dynamic" : "fixed",
                     initial, markers.size());
  if (!isDynamic)
    return;
  predicate(finite);
  addScaleUpdate(scale, finite);
}

/// Keras's order: the scaler's four variables, then those of the optimizer inside it.
static void declareScalerVariables(ModuleOp module, LossScaleOp declaration) {
  Operation *place = declaration;
  for (VariableOp variable : module.getOps<VariableOp>())
    if (variable.getRole() == VariableRole::Optimizer) {
      place = variable;
      break;
    }
  OpBuilder builder(place);
  MLIRContext *context = builder.getContext();
  auto declare = [&](StringRef name, Type element, double value) {
    auto initializer = InitializerAttr::get(
        context, value == 0 ? InitializerKind::Zeros : InitializerKind::Constant,
        builder.getF64FloatAttr(value), builder.getF64FloatAttr(0));
    VariableOp::create(builder, declaration.getLoc(), builder.getStringAttr(kScalerPrefix + name),
                       TypeAttr::get(RankedTensorType::get({}, element)),
                       VariableRoleAttr::get(context, VariableRole::Optimizer), StringAttr(),
                       initializer, RegularizerAttr(), ConstraintAttr(), builder.getBoolAttr(false),
                       FlatSymbolRefAttr(), /*own_type=*/TypeAttr());
  };
  declare("iteration", builder.getI64Type(), 0);
  declare("learning_rate", builder.getF32Type(), 0);
  declare("step_counter", builder.getI64Type(), 0);
  declare("dynamic_scale", builder.getF32Type(), declaration.getInitial().convertToDouble());
}

namespace {
struct ScaleLossPass : mpc::impl::ScaleLossBase<ScaleLossPass> {
  void runOnModule() override {
    ModuleOp module = getOperation();
    auto declarations = module.getOps<LossScaleOp>();
    LossScaleOp declaration = declarations.empty() ? LossScaleOp() : *declarations.begin();
    SmallVector<func::FuncOp> functions;
    bool trains = false;
    for (func::FuncOp function : module.getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      bool isMarked = !function.getOps<VariableGradientOp>().empty();
      trains |= isMarked;
      if (isMarked || !function.getOps<GradientSeedOp>().empty())
        functions.push_back(function);
      else if (trains && entryRoleOf(function) == EntryRole::TrainApply)
        functions.push_back(function);
    }
    if (trains && declaration && declaration.getGrowthSteps())
      declareScalerVariables(module, declaration);
    for (func::FuncOp function : functions) {
      Scaling(function, declaration).run();
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
        if (isOpTriviallyDead(&op))
          op.erase();
    }
  }
};
} // namespace
