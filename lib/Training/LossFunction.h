// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// @loss and @metric_results while they are being built.
#ifndef MPC_LIB_TRAINING_LOSSFUNCTION_H
#define MPC_LIB_TRAINING_LOSSFUNCTION_H

#include "lib/Training/Metrics.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

namespace mpc {

class LossFunction {
public:
  /// Adds @loss behind @forward.
  explicit LossFunction(mlir::func::FuncOp forward);

  Expression expression() { return {builder, loc}; }
  mlir::Value addArgument(mlir::Type type, mlir::NamedAttribute attribute);
  /// The argument that holds a variable's value.
  mlir::Value addVariable(VariableOp variable);

  /// Declares the metric `name` with its states, which @loss adds to. The name must be unique.
  void addMetric(llvm::StringRef name, const MetricParts &parts);
  bool hasMetric(llvm::StringRef name) const { return metricNames.contains(name); }

  /// Ends the function with the loss and the new states as results, and adds @metric_results when
  /// a metric needs it.
  void finish(mlir::Value loss);

  mlir::OpBuilder builder;
  mlir::Location loc; // of what is built next
  mlir::func::FuncOp forward, function;

private:
  struct Computed {
    std::string name;
    MetricParts::Result result;
    llvm::SmallVector<VariableOp> states;
  };
  void buildResults();

  llvm::StringSet<> metricNames;
  llvm::SmallVector<mlir::Value> updates;
  llvm::SmallVector<mlir::DictionaryAttr> updateAttributes;
  llvm::SmallVector<Computed> computed;
};

} // namespace mpc

#endif // MPC_LIB_TRAINING_LOSSFUNCTION_H
