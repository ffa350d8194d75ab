// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Builds the model from text, runs the passes, keeps the state.
#include "test/Unit/lib/Autodiff/TrainingLoop.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mpc/Autodiff/Passes.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

TrainingLoop::TrainingLoop(const std::string &declarations, std::vector<double> start,
                           const std::string &attributes) {
  std::string n = std::to_string(start.size()), w = "tensor<" + n + "xf32>",
              x = "tensor<?x" + n + "xf32>";
  std::string text = "mpc.variable @w : " + w + " role trainable {" + attributes + "}\n" +
                     declarations + "\nfunc.func @forward(%x: " + x +
                     " {mpc.input = \"x\"}, %w: " + w + " {mpc.variable = @w}) -> (" + x +
                     " {mpc.output = \"out0\"}) {\n  %y = mpc.multiply %x, %w : " + x + ", " + w +
                     "\n  return %y : " + x + "\n}\nfunc.func @loss(%p: " + x +
                     " {mpc.input = \"out0\"}) -> (tensor<f32> {mpc.output = \"loss\"}) {\n" +
                     "  %l = mpc.reduce sum %p {axes = array<i64: 0, 1>} : " + x +
                     " -> tensor<f32>\n  return %l : tensor<f32>\n}\n";
  prepare(text, start);
}

TrainingLoop::TrainingLoop(const std::string &declarations, const Table &table) {
  std::string w = "tensor<" + std::to_string(table.start.size()) + "x1xf32>";
  prepare("mpc.variable @w : " + w + " role trainable\n" +
              "mpc.variable @b : tensor<1xf32> role trainable\n" + declarations + R"(
func.func @forward(%ids: tensor<?xi32> {mpc.input = "ids"}, %x: tensor<?x1xf32> {mpc.input = "x"},
                   %w: )" +
              w + R"( {mpc.variable = @w}, %b: tensor<1xf32> {mpc.variable = @b})
    -> (tensor<?x1xf32> {mpc.output = "out0"}) {
  %rows = mpc.gather %w, %ids {axis = 0 : i64} : )" +
              w + R"(, tensor<?xi32> -> tensor<?x1xf32>
  %sum = mpc.add %rows, %b : tensor<?x1xf32>, tensor<1xf32>
  %y = mpc.multiply %sum, %x : tensor<?x1xf32>, tensor<?x1xf32>
  return %y : tensor<?x1xf32>
}
func.func @loss(%p: tensor<?x1xf32> {mpc.input = "out0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %l = mpc.reduce sum %p {axes = array<i64: 0, 1>} : tensor<?x1xf32> -> tensor<f32>
  return %l : tensor<f32>
}
)",
          table.start);
}

void TrainingLoop::prepare(const std::string &text, const std::vector<double> &start) {
  context.loadDialect<MpcDialect, func::FuncDialect>();
  module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return;
  PassManager passes(&context);
  passes.addPass(createDifferentiate());
  passes.addPass(createVerifyAutodiff());
  passes.addPass(createScaleLoss());
  passes.addPass(createVerifyScaling());
  if (failed(passes.run(*module)))
    return;
  for (VariableOp variable : module->getOps<VariableOp>()) {
    double value =
        variable.getInitializer() ? variable.getInitializer()->getA().getValueAsDouble() : 0;
    state[variable.getSymName().str()] =
        referenceTensor(cast<RankedTensorType>(variable.getType()), {value});
  }
  state["w"] = referenceTensor(
      cast<RankedTensorType>(module->lookupSymbol<VariableOp>("w").getType()), start);
  function = module->lookupSymbol<func::FuncOp>("train_step");
}

bool TrainingLoop::stepWith(const std::map<std::string, std::vector<double>> &inputs) {
  SmallVector<ReferenceTensor> arguments, results;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto symbol = function.getArgAttrOfType<FlatSymbolRefAttr>(i, MpcDialect::kVariableAttr))
      arguments.push_back(state.at(symbol.getValue().str()));
    else
      arguments.push_back(referenceTensor(
          cast<RankedTensorType>(function.getArgumentTypes()[i]),
          inputs.at(function.getArgAttrOfType<StringAttr>(i, MpcDialect::kInputAttr).str())));
  if (failed(interpret(function, arguments, results)))
    return false;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (auto symbol = function.getResultAttrOfType<FlatSymbolRefAttr>(i, MpcDialect::kUpdatesAttr))
      state[symbol.getValue().str()] = results[i];
    else
      outputs[function.getResultAttrOfType<StringAttr>(i, MpcDialect::kOutputAttr).str()] =
          results[i];
  return true;
}

std::vector<double> TrainingLoop::variable(const std::string &symbol) const {
  const ReferenceTensor &tensor = state.at(symbol);
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.size(); ++i)
    values.push_back(tensor.at(i));
  return values;
}

double TrainingLoop::output(const std::string &name) const { return outputs.at(name).at(0); }

std::vector<std::string> TrainingLoop::optimizerVariables() const {
  std::vector<std::string> names;
  ModuleOp op = *const_cast<TrainingLoop *>(this)->module;
  for (VariableOp variable : op.getOps<VariableOp>())
    if (variable.getRole() == VariableRole::Optimizer)
      names.push_back(variable.getSymName().str());
  return names;
}
