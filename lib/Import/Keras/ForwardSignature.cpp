// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The signature of @forward, once its body is done, and the declarations of what it reads.
#include "lib/Import/Keras/ForwardFunction.h"
#include "lib/Import/Keras/VariableTable.h"

namespace mpc::keras {

using mlir::Value;

/// Outputs, loss terms, masks of outputs, new values of variables.
void ForwardFunction::addResults(const VariableTable &variables, llvm::ArrayRef<Value> outputs) {
  for (const auto &[index, output] : llvm::enumerate(outputs))
    addOutput(unsigned(index), output);
  for (const auto &[index, term] : llvm::enumerate(lossTerms))
    addResult(term, {nameOf("loss_term" + llvm::Twine(index)), flag(MpcDialect::kLossTermAttr)});
  for (const auto &[index, metric] : llvm::enumerate(addedMetrics))
    addResult(metric.values, {nameOf("added_metric" + llvm::Twine(index)),
                              builder.getNamedAttr(MpcDialect::kAddedMetricAttr,
                                                   builder.getStringAttr(metric.name))});
  // Losses and metrics leave out what the mask of an output leaves out (keras/src/losses/loss.py).
  for (const auto &[index, output] : llvm::enumerate(outputs))
    if (Value mask = masks.lookup(output))
      addResult(mask, {nameOf("mask" + llvm::Twine(index)), flag(MpcDialect::kMaskAttr)});
  for (const ModelVariable &variable : variables.getAll()) {
    if (variable.updates.empty())
      continue;
    llvm::SmallVector<mlir::NamedAttribute> said{updateOf(variable.path)};
    if (variable.stateful)
      said.push_back(flag(MpcDialect::kStatefulAttr));
    addResult(variable.updates.back(), said);
    for (Value update : variable.updates)
      markUpdate(update, variable.path);
  }
}

mlir::OwningOpRef<mlir::ModuleOp> ForwardFunction::finish(VariableTable &table,
                                                          llvm::ArrayRef<Value> outputs) {
  table.finish();
  llvm::SmallVector<Variable> variables;
  for (ModelVariable &variable : table.getAll())
    variables.push_back({variable.argument, variable.path});
  sortArguments(variables);
  addResults(table, outputs);
  finishFunction(variables);
  for (const auto &[input, limit] : indexLimits)
    function.setArgAttr(llvm::cast<mlir::BlockArgument>(input).getArgNumber(),
                        MpcDialect::kIndexLimitAttr, builder.getI64IntegerAttr(limit));
  table.declare(builder);
  return takeModule();
}

} // namespace mpc::keras
