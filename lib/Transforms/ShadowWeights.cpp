// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-shadow-weights: low-precision copies of float32 weights that outlive a call. A cast at each
// use reads four bytes and writes two per weight and step; the optimizer, which has the new weight
// in a register, only writes the two.
#include "dialects/mpc/IR/Mpc.h"
#include "mlir/IR/Remarks.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Transforms/Passes.h"

namespace mpc {
#define GEN_PASS_DEF_SHADOWWEIGHTS
#include "mpc/Transforms/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

static FlatSymbolRefAttr variableOf(func::FuncOp function, unsigned argument) {
  return function.getArgAttrOfType<FlatSymbolRefAttr>(argument, MpcDialect::kVariableAttr);
}

namespace {
struct Shadow {
  VariableOp variable;
  RankedTensorType type;
  FlatSymbolRefAttr symbol;
};

/// The casts of one module's weights and the shadows that replace them.
class Shadowing {
public:
  explicit Shadowing(ModuleOp module) : module(module), symbols(module) {}

  void run() {
    SmallVector<func::FuncOp> entries;
    for (auto function : module.getOps<func::FuncOp>())
      // Entries that trace read the weights themselves: a copy may not have been made yet.
      if (isEntry(function) && !function.isExternal() && function.getOps<TraceOp>().empty())
        entries.push_back(function);
    for (func::FuncOp function : entries)
      replaceCasts(function);
    for (func::FuncOp function : entries)
      updateShadows(function);
  }

private:
  bool qualifies(VariableOp variable, CastOp cast);
  Shadow &shadowOf(VariableOp variable, RankedTensorType type);
  void replaceCasts(func::FuncOp function);
  void updateShadows(func::FuncOp function);
  Value update(Value newValue, VariableOp variable, RankedTensorType type);

  ModuleOp module;
  SymbolTable symbols;
  llvm::MapVector<std::pair<Operation *, Type>, Shadow> shadows;
};
} // namespace

/// The runtime derives shadows from float32 masters; random state and metrics are not weights.
bool Shadowing::qualifies(VariableOp variable, CastOp cast) {
  if (variable.getRole() != VariableRole::Trainable &&
      variable.getRole() != VariableRole::NonTrainable)
    return false;
  Type element = elementTypeOf(cast.getResult());
  return elementTypeOf(cast.getInput()).isF32() && isa<Float16Type, BFloat16Type>(element);
}

Shadow &Shadowing::shadowOf(VariableOp variable, RankedTensorType type) {
  auto [entry, isNew] = shadows.try_emplace({variable, type.getElementType()});
  if (!isNew)
    return entry->second;
  std::string element;
  llvm::raw_string_ostream(element) << type.getElementType();
  // Behind all variables, so that their positions do not depend on the policy.
  OpBuilder builder(variable->getContext());
  for (VariableOp other : module.getOps<VariableOp>())
    builder.setInsertionPointAfter(other);
  auto declared = VariableOp::create(builder, variable.getLoc(),
                                     (variable.getSymName() + "/shadow_" + element).str(), type,
                                     VariableRole::Shadow);
  declared.setShadowOfAttr(FlatSymbolRefAttr::get(variable.getSymNameAttr()));
  declared.setLayerAttr(variable.getLayerAttr());
  declared.setAutocast(false);
  remark::passed(
      variable.getLoc(),
      remark::RemarkOpts::name("shadow").category("mpc-fusion").function(variable.getSymName()))
      << "keeps a copy in " + element;
  StringAttr symbol = symbols.insert(declared);
  entry->second = {variable, type, FlatSymbolRefAttr::get(symbol)};
  return entry->second;
}

void Shadowing::replaceCasts(func::FuncOp function) {
  for (unsigned i = 0, count = function.getNumArguments(); i < count; ++i) {
    FlatSymbolRefAttr symbol = variableOf(function, i);
    if (!symbol)
      continue;
    auto variable = symbols.lookup<VariableOp>(symbol.getAttr());
    llvm::SmallDenseMap<Type, Value, 2> arguments;
    for (Operation *user : llvm::make_early_inc_range(function.getArgument(i).getUsers())) {
      auto cast = dyn_cast<CastOp>(user);
      if (!cast || !qualifies(variable, cast))
        continue;
      auto type = tensorTypeOf(cast.getResult());
      Value &argument = arguments[type.getElementType()];
      if (!argument) {
        OpBuilder builder(function.getContext());
        NamedAttribute name =
            builder.getNamedAttr(MpcDialect::kVariableAttr, shadowOf(variable, type).symbol);
        unsigned index = function.getNumArguments();
        (void)function.insertArgument(index, type, builder.getDictionaryAttr(name),
                                      variable.getLoc());
        argument = function.getArgument(index);
      }
      cast.replaceAllUsesWith(argument);
      cast.erase();
    }
  }
}

/// The shadow of `newValue`: a result of the optimizer step that computes it, else a cast.
Value Shadowing::update(Value newValue, VariableOp variable, RankedTensorType type) {
  OpBuilder builder(variable->getContext());
  auto step = newValue.getDefiningOp<OptimizerStepOp>();
  if (!step || newValue != step.getResult(0)) {
    builder.setInsertionPointAfterValue(newValue);
    return CastOp::create(builder, newValue.getLoc(), type, newValue);
  }
  builder.setInsertionPoint(step);
  SmallVector<Type> types(step.getResultTypes());
  types.push_back(type);
  auto extended =
      OptimizerStepOp::create(builder, step.getLoc(), types, step->getOperands(), step->getAttrs());
  step->replaceAllUsesWith(extended->getResults().drop_back());
  step.erase();
  return extended->getResults().back();
}

/// Whoever changes a variable changes its shadows, whether it reads them or not.
void Shadowing::updateShadows(func::FuncOp function) {
  OpBuilder builder(function.getContext());
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto &[key, shadow] : shadows)
    for (unsigned i = 0, count = function.getNumResults(); i < count; ++i) {
      auto updates = function.getResultAttrOfType<FlatSymbolRefAttr>(i, MpcDialect::kUpdatesAttr);
      if (!updates || updates.getAttr() != shadow.variable.getSymNameAttr())
        continue;
      Value value = update(terminator->getOperand(i), shadow.variable, shadow.type);
      NamedAttribute name = builder.getNamedAttr(MpcDialect::kUpdatesAttr, shadow.symbol);
      (void)function.insertResult(function.getNumResults(), shadow.type,
                                  builder.getDictionaryAttr(name));
      terminator->insertOperands(terminator->getNumOperands(), value);
      break;
    }
}

namespace {
struct ShadowWeightsPass : mpc::impl::ShadowWeightsBase<ShadowWeightsPass> {
  void runOnModule() override { Shadowing(getOperation()).run(); }
};
} // namespace
