// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs @train_step of a one-layer model in the interpreter; the gradient of its variable is the
// input.
#ifndef MPC_TEST_UNIT_LIB_AUTODIFF_TRAININGLOOP_H
#define MPC_TEST_UNIT_LIB_AUTODIFF_TRAININGLOOP_H

#include "mlir/IR/BuiltinOps.h"
#include "mpc/Interpreter/Interpreter.h"
#include <map>
#include <string>
#include <vector>

namespace mpc::test {

/// loss = sum(x * w) over one row x, so that the gradient of w is x. All state is kept by symbol.
class TrainingLoop {
public:
  /// `declarations`: mpc.optimizer and the like, as text. `start`: the initial value of w, whose
  /// declaration gets `attributes`.
  TrainingLoop(const std::string &declarations, std::vector<double> start,
               const std::string &attributes = "");

  /// Rows of one column each: the first values of a table w, whose rows `ids` name. The loss is
  /// sum(x * w[ids]) + sum(x) * b with a second variable b, which starts as 0.
  struct Table {
    std::vector<double> start;
  };
  TrainingLoop(const std::string &declarations, const Table &table);

  /// One training step; returns whether it ran.
  bool step(const std::vector<double> &gradient) { return stepWith({{"x", gradient}}); }
  bool stepWith(const std::map<std::string, std::vector<double>> &inputs);

  /// Elements of a variable or of an output of the last step.
  std::vector<double> variable(const std::string &symbol) const;
  double output(const std::string &name) const;
  std::vector<std::string> optimizerVariables() const;
  bool valid() const { return bool(function); }

private:
  /// From text, the passes that make the step of it, and the variables' first values.
  void prepare(const std::string &text, const std::vector<double> &start);

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  std::map<std::string, ReferenceTensor> state, outputs;
};

} // namespace mpc::test

#endif // MPC_TEST_UNIT_LIB_AUTODIFF_TRAININGLOOP_H
