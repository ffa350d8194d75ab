// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Derivatives against central differences, both through the reference interpreter in double.
#include "mpc/Autodiff/ReverseMode.h"
#include "mpc/Interpreter/Interpreter.h"
#include "test/RandomGraphs/GraphChecks.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::test;

/// A function of @forward's arguments: the sum of its result, and the derivatives of the sum.
static func::FuncOp differentiate(ModuleOp module) {
  auto function = module.lookupSymbol<func::FuncOp>("forward");
  auto terminator = cast<func::ReturnOp>(function.getBody().front().getTerminator());
  OpBuilder b(terminator);
  Location l = b.getUnknownLoc();
  Value sum = ReduceOp::create(b, l, ReduceKind::Sum, terminator.getOperand(0),
                               ArrayRef<int64_t>{0}, /*keep_dims=*/false);
  SmallVector<Value> independents, gradients, results{sum};
  for (BlockArgument argument : function.getArguments())
    if (isa<FloatType>(elementTypeOf(argument)))
      independents.push_back(argument);
  if (failed(
          buildGradients(b, sum, scalarConstant(b, l, b.getF64Type(), 1), independents, gradients)))
    return {};
  for (auto [gradient, argument] : llvm::zip_equal(gradients, independents))
    results.push_back(gradient ? gradient
                               : Value(BroadcastLikeOp::create(
                                     b, l, scalarConstant(b, l, b.getF64Type(), 0), argument)));
  func::ReturnOp::create(b, l, results);
  terminator.erase();
  function.setFunctionType(
      b.getFunctionType(function.getArgumentTypes(), ValueRange(results).getTypes()));
  return function;
}

namespace {
/// The sum of a function's result as one of its arguments' elements moves.
struct Line {
  func::FuncOp function;
  SmallVector<ReferenceTensor> arguments;
  bool broken = false;

  double at(size_t argument, int64_t element, double offset) {
    double &x = arguments[argument].floats[element];
    const double before = x;
    x += offset;
    SmallVector<ReferenceTensor> results;
    broken |= failed(interpret(function, arguments, results));
    x = before;
    double sum = 0;
    if (!broken)
      for (double value : results[0].floats)
        sum += value;
    return sum;
  }
};
} // namespace

std::string mpc::test::checkDifferences(const RandomGraph &graph, Tally &tally) {
  OwningOpRef<ModuleOp> module = graph.getModule().clone();
  func::FuncOp function = differentiate(*module);
  if (!function)
    return "could not be differentiated";
  Line line{graph.forward(), {}};
  for (const GraphArgument &argument : graph.getArguments())
    line.arguments.push_back(argument.tensor);
  SmallVector<ReferenceTensor> values;
  if (failed(interpret(function, line.arguments, values)))
    return "the derivative could not be interpreted";
  size_t next = 1;
  double size = 1;
  for (double value : values[0].floats)
    size += std::fabs(value);
  for (size_t i = 0; i < graph.getArguments().size(); ++i) {
    const GraphArgument &argument = graph.getArguments()[i];
    if (!argument.tensor.isFloating())
      continue;
    const ReferenceTensor &gradient = values[next++];
    if (gradient.shape != argument.tensor.shape)
      return argument.name + ": the derivative has another shape";
    for (int64_t k = 0; k < gradient.size(); ++k) {
      const double got = gradient.floats[k];
      // The quotient's own error: rounding of f over the step, and the third derivative.
      auto agrees = [&](double step, double expected) {
        return std::fabs(got - expected) <=
               1e-5 * std::fabs(expected) + 1e-14 * size / step + 1e-8 * size;
      };
      auto quotient = [&](double step) {
        return (line.at(i, k, step) - line.at(i, k, -step)) / (2 * step);
      };
      double expected = quotient(1e-5);
      bool good = agrees(1e-5, expected);
      if (!good)
        good = agrees(1e-6, expected = quotient(1e-6));
      if (line.broken)
        return "could not be interpreted";
      if (good) {
        ++tally.differences;
        continue;
      }
      const double here = line.at(i, k, 0), step = 1e-6;
      const double right = (line.at(i, k, step) - here) / step,
                   left = (here - line.at(i, k, -step)) / step;
      if (std::fabs(right - left) > 1e-3 * (1 + std::fabs(left))) {
        ++tally.kinks;
        continue;
      }
      return llvm::formatv("the derivative by {0}[{1}] is {2:e12}, differences say {3:e12}",
                           argument.name, k, got, expected)
          .str();
    }
  }
  return "";
}
