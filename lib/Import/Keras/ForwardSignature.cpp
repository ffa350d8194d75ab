// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The signature of @forward, once its body is done, and the declarations of what it reads.
#include "lib/Import/Keras/ForwardFunction.h"
#include "lib/Import/Keras/VariableTable.h"

namespace mpc::keras {

using mlir::Value;

static constexpr llvm::StringLiteral kRandomState("seed_generator/state");

/// Says on the mpc.layer which of its results is a variable's new value: of a layer that is called
/// twice only the last one returns, but none is rounded to the compute dtype.
static void markUpdate(mlir::OpResult update, mlir::FlatSymbolRefAttr symbol) {
  mlir::Operation *layer = update.getOwner();
  if (!llvm::isa<LayerOp>(layer))
    return; // a scan, which the layers inside say it for
  mlir::Builder builder(layer->getContext());
  llvm::SmallVector<mlir::Attribute> symbols(layer->getNumResults(), builder.getUnitAttr());
  if (auto known = layer->getAttrOfType<mlir::ArrayAttr>(MpcDialect::kUpdatesAttr))
    symbols.assign(known.begin(), known.end());
  symbols[update.getResultNumber()] = symbol;
  layer->setAttr(MpcDialect::kUpdatesAttr, builder.getArrayAttr(symbols));
}

/// What @forward returns, and what is said of each result.
class ForwardFunction::Results {
public:
  explicit Results(ForwardFunction &forward) : forward(forward) {}

  void add(Value value, llvm::ArrayRef<mlir::NamedAttribute> said) {
    values.push_back(value);
    attributes.push_back(forward.builder.getDictionaryAttr(said));
  }
  mlir::NamedAttribute name(const llvm::Twine &text) {
    mlir::Builder &builder = forward.builder;
    return builder.getNamedAttr(MpcDialect::kOutputAttr, builder.getStringAttr(text));
  }
  mlir::NamedAttribute flag(llvm::StringRef attribute) {
    return forward.builder.getNamedAttr(attribute, forward.builder.getUnitAttr());
  }
  mlir::NamedAttribute updates(llvm::StringRef path) {
    return forward.builder.getNamedAttr(
        MpcDialect::kUpdatesAttr, mlir::FlatSymbolRefAttr::get(forward.builder.getContext(), path));
  }

  llvm::SmallVector<Value> values;
  llvm::SmallVector<mlir::Attribute> attributes;

private:
  ForwardFunction &forward;
};

/// Outputs, loss terms, masks of outputs, new values of variables, the next random state.
void ForwardFunction::addResults(Results &results, const VariableTable &variables,
                                 llvm::ArrayRef<Value> outputs) {
  for (const auto &[index, output] : llvm::enumerate(outputs))
    results.add(output, results.name("out" + llvm::Twine(index)));
  for (const auto &[index, term] : llvm::enumerate(lossTerms))
    results.add(term, {results.name("loss_term" + llvm::Twine(index)),
                       results.flag(MpcDialect::kLossTermAttr)});
  for (const auto &[index, metric] : llvm::enumerate(addedMetrics))
    results.add(metric.values, {results.name("added_metric" + llvm::Twine(index)),
                                builder.getNamedAttr(MpcDialect::kAddedMetricAttr,
                                                     builder.getStringAttr(metric.name))});
  // Losses and metrics leave out what the mask of an output leaves out (keras/src/losses/loss.py).
  for (const auto &[index, output] : llvm::enumerate(outputs))
    if (Value mask = masks.lookup(output))
      results.add(mask,
                  {results.name("mask" + llvm::Twine(index)), results.flag(MpcDialect::kMaskAttr)});
  for (const ModelVariable &variable : variables.getAll()) {
    if (variable.updates.empty())
      continue;
    llvm::SmallVector<mlir::NamedAttribute> said{results.updates(variable.path)};
    if (variable.stateful)
      said.push_back(results.flag(MpcDialect::kStatefulAttr));
    results.add(variable.updates.back(), said);
    for (Value update : variable.updates)
      markUpdate(llvm::cast<mlir::OpResult>(update),
                 mlir::FlatSymbolRefAttr::get(builder.getContext(), variable.path));
  }
  if (randomState)
    results.add(RandomAdvanceOp::create(builder, location, randomState),
                results.updates(kRandomState));
}

/// Inputs, then variables in their order, then the random state: arguments were collected as layers
/// asked for them.
void ForwardFunction::sortArguments(VariableTable &variables) {
  auto move = [&](mlir::BlockArgument &argument) {
    mlir::BlockArgument moved = body->addArgument(argument.getType(), argument.getLoc());
    argument.replaceAllUsesWith(moved);
    argument = moved;
  };
  const unsigned inputs = unsigned(inputNames.size()), collected = body->getNumArguments();
  for (ModelVariable &variable : variables.getAll())
    move(variable.argument);
  if (randomState)
    move(randomState);
  body->eraseArguments(inputs, collected - inputs);
}

void ForwardFunction::nameArguments(const VariableTable &variables) {
  auto nameVariable = [&](mlir::BlockArgument argument, llvm::StringRef path) {
    function.setArgAttr(argument.getArgNumber(), MpcDialect::kVariableAttr,
                        mlir::FlatSymbolRefAttr::get(builder.getContext(), path));
  };
  for (const auto &[index, name] : llvm::enumerate(inputNames))
    function.setArgAttr(index, MpcDialect::kInputAttr, builder.getStringAttr(name));
  for (const auto &[input, limit] : indexLimits)
    function.setArgAttr(llvm::cast<mlir::BlockArgument>(input).getArgNumber(),
                        MpcDialect::kIndexLimitAttr, builder.getI64IntegerAttr(limit));
  for (const ModelVariable &variable : variables.getAll())
    nameVariable(variable.argument, variable.path);
  if (randomState)
    nameVariable(randomState, kRandomState);
}

void ForwardFunction::declareRandomState() {
  if (randomState)
    VariableOp::create(
        builder, location, kRandomState, llvm::cast<mlir::RankedTensorType>(randomState.getType()),
        VariableRole::Random, mlir::StringAttr(), InitializerAttr(), RegularizerAttr(),
        ConstraintAttr(), /*autocast=*/false, mlir::FlatSymbolRefAttr());
}

mlir::OwningOpRef<mlir::ModuleOp> ForwardFunction::finish(VariableTable &variables,
                                                          llvm::ArrayRef<Value> outputs) {
  variables.finish();
  sortArguments(variables);
  Results results(*this);
  addResults(results, variables, outputs);
  mlir::func::ReturnOp::create(builder, location, results.values);
  function.setFunctionType(builder.getFunctionType(body->getArgumentTypes(),
                                                   mlir::ValueRange(results.values).getTypes()));
  function.setAllResultAttrs(results.attributes);
  nameArguments(variables);
  builder.setInsertionPointToStart(module->getBody());
  variables.declare(builder);
  declareRandomState();
  return std::move(module);
}

} // namespace mpc::keras
