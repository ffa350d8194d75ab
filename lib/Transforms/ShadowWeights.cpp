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
  explicit Shadowing(ModuleOp module) : module(module), symbols(module) {
    for (VariableOp variable : module.getOps<VariableOp>())
      lastVariable = variable;
  }

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
  VariableOp lastVariable;
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
  builder.setInsertionPointAfter(lastVariable);
  auto declared = VariableOp::create(builder, variable.getLoc(),
                                     (variable.getSymName() + "/shadow_" + element).str(), type,
                                     VariableRole::Shadow);
  lastVariable = declared;
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
  // New arguments come all at once: the type of a function is a list of theirs, and each list is
  // kept.
  llvm::MapVector<std::pair<Operation *, Type>, SmallVector<CastOp>> casts;
  for (BlockArgument argument : function.getArguments()) {
    FlatSymbolRefAttr symbol = variableOf(function, argument.getArgNumber());
    if (!symbol)
      continue;
    auto variable = symbols.lookup<VariableOp>(symbol.getAttr());
    for (Operation *user : argument.getUsers())
      if (auto cast = dyn_cast<CastOp>(user); cast && qualifies(variable, cast))
        casts[{variable, tensorTypeOf(cast.getResult())}].push_back(cast);
  }
  OpBuilder builder(function.getContext());
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  SmallVector<Location> locations;
  for (const auto &[key, replaced] : casts) {
    auto variable = cast<VariableOp>(key.first);
    auto type = cast<RankedTensorType>(key.second);
    types.push_back(type);
    attributes.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr(MpcDialect::kVariableAttr, shadowOf(variable, type).symbol)));
    locations.push_back(variable.getLoc());
  }
  const unsigned count = function.getNumArguments();
  (void)function.insertArguments(SmallVector<unsigned>(types.size(), count), types, attributes,
                                 locations);
  for (const auto &[i, entry] : llvm::enumerate(casts))
    for (CastOp replaced : entry.second) {
      replaced.replaceAllUsesWith(function.getArgument(count + i));
      replaced.erase();
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
  llvm::DenseMap<Attribute, unsigned> updates;
  const unsigned count = function.getNumResults();
  for (unsigned i = 0; i < count; ++i)
    if (auto symbol = function.getResultAttrOfType<FlatSymbolRefAttr>(i, MpcDialect::kUpdatesAttr))
      updates.try_emplace(symbol.getAttr(), i);
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  for (auto &[key, shadow] : shadows) {
    auto found = updates.find(shadow.variable.getSymNameAttr());
    if (found == updates.end())
      continue;
    Value value = update(terminator->getOperand(found->second), shadow.variable, shadow.type);
    types.push_back(shadow.type);
    attributes.push_back(
        builder.getDictionaryAttr(builder.getNamedAttr(MpcDialect::kUpdatesAttr, shadow.symbol)));
    terminator->insertOperands(terminator->getNumOperands(), value);
  }
  (void)function.insertResults(SmallVector<unsigned>(types.size(), count), types, attributes);
}

namespace {
struct ShadowWeightsPass : mpc::impl::ShadowWeightsBase<ShadowWeightsPass> {
  void runOnModule() override { Shadowing(getOperation()).run(); }
};
} // namespace
