// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arguments, metric states and results of @loss; the function @metric_results.
#include "lib/Training/LossFunction.h"

using namespace mlir;
using namespace mpc;

LossFunction::LossFunction(func::FuncOp forward)
    : builder(forward.getContext()), loc(NameLoc::get(builder.getStringAttr("loss"))),
      forward(forward) {
  builder.setInsertionPointAfter(forward);
  function = func::FuncOp::create(builder, loc, "loss", builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());
}

Value LossFunction::addArgument(Type type, NamedAttribute attribute) {
  (void)function.insertArgument(function.getNumArguments(), type,
                                builder.getDictionaryAttr(attribute), loc);
  return function.getArgument(function.getNumArguments() - 1);
}

Value LossFunction::addVariable(VariableOp variable) {
  return addArgument(variable.getType(),
                     builder.getNamedAttr(MpcDialect::kVariableAttr,
                                          FlatSymbolRefAttr::get(variable.getSymNameAttr())));
}

void LossFunction::addMetric(StringRef name, const MetricParts &parts) {
  metricNames.insert(name);
  OpBuilder declarations(forward);
  Computed entry{name.str(), parts.result, {}};
  SmallVector<Attribute> symbols;
  for (const MetricParts::State &state : parts.states) {
    auto variable =
        VariableOp::create(declarations, loc, ("metric/" + name + "/" + state.name).str(),
                           tensorTypeOf(state.increment), VariableRole::Metric);
    entry.states.push_back(variable);
    symbols.push_back(FlatSymbolRefAttr::get(variable.getSymNameAttr()));
    updates.push_back(AddOp::create(builder, loc, addVariable(variable), state.increment));
    updateAttributes.push_back(
        builder.getDictionaryAttr(builder.getNamedAttr(MpcDialect::kUpdatesAttr, symbols.back())));
  }
  MetricOp::create(declarations, loc, builder.getStringAttr(name), builder.getArrayAttr(symbols),
                   parts.root ? builder.getUnitAttr() : UnitAttr(),
                   parts.result ? builder.getUnitAttr() : UnitAttr());
  if (parts.result)
    computed.push_back(std::move(entry));
}

void LossFunction::buildResults() {
  OpBuilder results(builder.getContext());
  results.setInsertionPointAfter(function);
  auto target =
      func::FuncOp::create(results, loc, "metric_results", builder.getFunctionType({}, {}));
  results.setInsertionPointToEnd(target.addEntryBlock());
  Expression e{results, loc};
  SmallVector<Value> values;
  for (const Computed &metric : computed) {
    SmallVector<Value> states;
    for (VariableOp variable : metric.states) {
      unsigned index = target.getNumArguments();
      (void)target.insertArgument(
          index, variable.getType(),
          builder.getDictionaryAttr(builder.getNamedAttr(
              MpcDialect::kVariableAttr, FlatSymbolRefAttr::get(variable.getSymNameAttr()))),
          loc);
      states.push_back(target.getArgument(index));
    }
    values.push_back(e.toFloat(metric.result(e, states)));
  }
  func::ReturnOp::create(results, loc, values);
  target.setFunctionType(
      builder.getFunctionType(target.getArgumentTypes(), ValueRange(values).getTypes()));
  for (auto [i, metric] : llvm::enumerate(computed))
    target.setResultAttr(i, MpcDialect::kOutputAttr, builder.getStringAttr(metric.name));
}

void LossFunction::finish(Value loss) {
  SmallVector<Value> results{loss};
  results.append(updates);
  func::ReturnOp::create(builder, loc, results);
  function.setFunctionType(
      builder.getFunctionType(function.getArgumentTypes(), ValueRange(results).getTypes()));
  function.setResultAttr(0, MpcDialect::kOutputAttr, builder.getStringAttr("loss"));
  for (auto [i, attributes] : llvm::enumerate(updateAttributes))
    function.setResultAttrs(i + 1, attributes);
  if (!computed.empty())
    buildResults();
}
