// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arguments, results and clean-up of entry functions.
#include "lib/Autodiff/EntryBuilder.h"

using namespace mlir;
using namespace mpc;

EntryBuilder::EntryBuilder(ModuleOp module, EntryRole role, Location loc)
    : builder(module.getContext()), module(module) {
  function = func::FuncOp::create(loc, stringifyEntryRole(role), builder.getFunctionType({}, {}));
  function->setAttr(MpcDialect::kEntryAttr, EntryRoleAttr::get(builder.getContext(), role));
  module.push_back(function);
  builder.setInsertionPointToEnd(function.addEntryBlock());
}

VariableOp EntryBuilder::declarationOf(FlatSymbolRefAttr symbol) {
  auto known = declarations.find(symbol);
  if (known == declarations.end()) {
    // The optimizer has declared more of them meanwhile.
    for (auto variable : module.getOps<VariableOp>())
      declarations[FlatSymbolRefAttr::get(variable.getSymNameAttr())] = variable;
    known = declarations.find(symbol);
  }
  return known == declarations.end() ? VariableOp() : known->second;
}

Value EntryBuilder::addArgument(Type type, DictionaryAttr attributes) {
  // Variables come last.
  const bool isVariable = attributes.contains(MpcDialect::kVariableAttr);
  const unsigned index = isVariable ? arguments.size() : others++;
  arguments.insert(arguments.begin() + index, attributes);
  return function.getBody().front().insertArgument(index, type, function.getLoc());
}

Value EntryBuilder::argument(Type type, DictionaryAttr attributes) {
  // Users choose the names of inputs, which may be those of targets.
  auto name = attributes.getNamed(MpcDialect::kInputAttr);
  if (!name)
    name = attributes.getNamed(MpcDialect::kTargetAttr);
  Value &value = named[{name->getName(), name->getValue()}];
  if (!value)
    value = addArgument(type, attributes);
  return value;
}

Value EntryBuilder::variable(FlatSymbolRefAttr symbol) {
  Value &value = variables[symbol];
  if (!value) {
    value = addArgument(
        declarationOf(symbol).getType(),
        builder.getDictionaryAttr(builder.getNamedAttr(MpcDialect::kVariableAttr, symbol)));
  }
  return value;
}

void EntryBuilder::addOutput(StringRef name, Value value) {
  outputs.push_back(
      {value, builder.getNamedAttr(MpcDialect::kOutputAttr, builder.getStringAttr(name))});
}

void EntryBuilder::addUpdate(FlatSymbolRefAttr symbol, Value value) {
  updates.push_back({value, builder.getNamedAttr(MpcDialect::kUpdatesAttr, symbol)});
}

/// Ops that only the derivative looks at have done their work: the value stands for itself.
static void dropDerivativeForms(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block))
    if (isa<StraightThroughOp, Float8QuantizeGradientOp>(op)) {
      op.getResult(0).replaceAllUsesWith(op.getOperand(0));
      op.erase();
    }
}

void mpc::removeDeadCode(func::FuncOp function) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
  llvm::BitVector unused(function.getNumArguments());
  for (BlockArgument argument : function.getArguments())
    if (argument.use_empty() &&
        function.getArgAttr(argument.getArgNumber(), MpcDialect::kVariableAttr))
      unused.set(argument.getArgNumber());
  (void)function.eraseArguments(unused);
}

void EntryBuilder::finish() {
  // All arguments at once: the type of a function is a list of theirs, and each list is kept.
  function.setFunctionType(
      builder.getFunctionType(function.getBody().front().getArgumentTypes(), {}));
  function.setAllArgAttrs(arguments);
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> attributes;
  for (const Result &result : llvm::concat<Result>(outputs, updates)) {
    values.push_back(result.value);
    attributes.push_back(builder.getDictionaryAttr(result.attribute));
  }
  func::ReturnOp::create(builder, function.getLoc(), values);
  dropDerivativeForms(function.getBody().front());
  removeDeadCode(function);
  // A returned value may have been such a form.
  function.setFunctionType(builder.getFunctionType(
      function.getArgumentTypes(), function.getBody().front().getTerminator()->getOperandTypes()));
  function.setAllResultAttrs(attributes);
}
