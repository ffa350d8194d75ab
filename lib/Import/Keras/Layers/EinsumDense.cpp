// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/core/einsum_dense.py: a contraction of the input with a kernel whose shape the
// equation gives, bias over some axes, activation.
#include "../Activations.h"
#include "../LayerRegistry.h"

#include "llvm/ADT/StringExtras.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using B = LayerBuilder;

/// The equation's terms and where an ellipsis stands: "...x,xy->...y", "ab...,bc->ac...".
struct Equation {
  std::string input, weight, output;
  bool leftElided = false, rightElided = false;

  static std::optional<Equation> parse(llvm::StringRef text) {
    auto [inputs, output] = text.split("->");
    auto [input, weight] = inputs.split(',');
    Equation result;
    result.leftElided = input.consume_front("...");
    result.rightElided = !result.leftElided && input.consume_back("...");
    const bool left = output.consume_front("...");
    const bool right = !left && output.consume_back("...");
    auto isTerm = [](llvm::StringRef term) {
      return !term.empty() && llvm::all_of(term, llvm::isAlpha);
    };
    if (left != result.leftElided || right != result.rightElided || !isTerm(input) ||
        !isTerm(weight) || !isTerm(output) || (result.rightElided && input.size() < 2))
      return std::nullopt;
    result.input = input.str();
    result.weight = weight.str();
    result.output = output.str();
    return result;
  }
};

/// Shapes of kernel and bias, as _analyze_split_string finds them.
struct EinsumShapes {
  llvm::SmallVector<int64_t> kernel, bias, inputAxes, outputAxes;
};

constexpr int64_t kUnknown = -1;

/// The whole output shape: the batch, what the ellipsis stands for, and the configured extents.
llvm::SmallVector<int64_t> outputShape(const Equation &equation, llvm::ArrayRef<int64_t> input,
                                       llvm::SmallVector<int64_t> configured) {
  const int64_t elided = int64_t(input.size()) - int64_t(equation.input.size());
  configured.insert(configured.begin(), input.front());
  if (equation.leftElided)
    for (int64_t i = 1; i < elided; ++i)
      configured.insert(configured.begin() + 1, input[i]);
  else
    for (int64_t i = int64_t(input.size()) - elided; i < int64_t(input.size()); ++i)
      configured.push_back(input[i]);
  return configured;
}

std::optional<EinsumShapes> findShapes(B &b, const Equation &equation, Value x,
                                       std::optional<llvm::StringRef> biasAxes) {
  llvm::ArrayRef<int64_t> input = b.shapeOf(x);
  const int64_t elided = int64_t(input.size()) - int64_t(equation.input.size());
  auto fail = [&](const llvm::Twine &message) {
    b.error(message);
    return std::nullopt;
  };
  const bool hasEllipsis = equation.leftElided || equation.rightElided;
  if (elided < 0 || (elided > 0 && !hasEllipsis))
    return fail("the equation's input '" + equation.input + "' does not fit an input of " +
                llvm::Twine(input.size()) + " dimensions");
  llvm::SmallVector<int64_t> configured;
  if (const llvm::json::Value *value = b.layer.config.get("output_shape");
      value && value->getAsInteger())
    configured.push_back(*value->getAsInteger());
  else
    configured = b.getIntegers("output_shape", kUnknown).value_or(llvm::SmallVector<int64_t>());
  const llvm::SmallVector<int64_t> output = outputShape(equation, input, configured);
  const int64_t left = equation.leftElided ? elided : 0;
  // Keras reads the labels' places and ignores what is behind them.
  if (output.size() < equation.output.size() + size_t(elided))
    return fail("'output_shape' lacks dimensions that the equation's output '" + equation.output +
                "' has after the batch");
  auto extentIn = [&](llvm::StringRef labels, llvm::ArrayRef<int64_t> shape,
                      char label) -> std::optional<int64_t> {
    const size_t place = labels.find(label);
    if (place == llvm::StringRef::npos)
      return std::nullopt;
    return shape[place + size_t(left)];
  };
  for (char label : equation.input) {
    std::optional<int64_t> own = extentIn(equation.input, input, label),
                           shared = extentIn(equation.output, output, label);
    if (shared && *shared != kUnknown && *own != *shared)
      return fail("input and 'output_shape' differ in dimension '" + llvm::Twine(label) + "'");
  }
  for (char label : equation.output)
    if (!llvm::StringRef(equation.input).contains(label) &&
        !llvm::StringRef(equation.weight).contains(label))
      return fail("dimension '" + llvm::Twine(label) +
                  "' of the equation's output is in neither the input nor the kernel");
  EinsumShapes shapes;
  for (const auto &[axis, label] : llvm::enumerate(equation.weight)) {
    std::optional<int64_t> extent = extentIn(equation.output, output, label);
    (extent ? shapes.outputAxes : shapes.inputAxes).push_back(int64_t(axis));
    if (!extent)
      extent = extentIn(equation.input, input, label);
    if (!extent || *extent < 0)
      return fail("the kernel's dimension '" + llvm::Twine(label) +
                  "' has no extent; it must be in the input, or fixed in 'output_shape'");
    shapes.kernel.push_back(*extent);
  }
  if (!biasAxes)
    return shapes;
  size_t first = llvm::StringRef::npos;
  for (char label : *biasAxes)
    first = std::min(first, llvm::StringRef(equation.output).find(label));
  if (first == llvm::StringRef::npos || !llvm::all_of(*biasAxes, [&](char l) {
        return llvm::StringRef(equation.output).contains(l);
      }))
    return fail("'bias_axes' names dimensions that the equation's output does not have");
  for (char label : llvm::StringRef(equation.output).drop_front(first)) {
    const int64_t extent =
        biasAxes->contains(label) ? *extentIn(equation.output, output, label) : 1;
    if (extent < 0)
      return fail("the bias's dimension '" + llvm::Twine(label) +
                  "' has no extent; fix it in 'output_shape'");
    shapes.bias.push_back(extent);
  }
  if (!equation.leftElided)
    shapes.bias.append(elided, 1);
  return shapes;
}

Value importEinsumDense(B &b) {
  Value x = b.getFloatInput(/*castIntegers=*/true);
  if (!x)
    return {};
  for (llvm::StringRef key : {"quantization_config", "lora_rank"})
    if (const llvm::json::Value *value = b.layer.config.get(key);
        value && value->kind() != llvm::json::Value::Null)
      b.error("'" + key + "' is not supported; save the model without quantization and LoRA");
  const std::string text = b.getString("equation", "");
  std::optional<Equation> equation = Equation::parse(text);
  if (!equation)
    return b.error("the equation '" + text +
                   "' must have the form [X],[Y]->[Z], ...[X],[Y]->...[Z] or [X]...,[Y]->[Z]...");
  const std::string axes = b.getString("bias_axes", "");
  const bool hasBias = !axes.empty();
  std::optional<EinsumShapes> shapes =
      findShapes(b, *equation, x, hasBias ? std::optional<llvm::StringRef>(axes) : std::nullopt);
  if (!shapes || b.hasFailed())
    return {};
  VariableRequest kernelRequest{"kernel", shapes->kernel, "kernel_initializer",
                                "kernel_regularizer", "kernel_constraint"};
  kernelRequest.inputAxes = shapes->inputAxes;
  kernelRequest.outputAxes = shapes->outputAxes;
  Value kernel = b.addVariable(kernelRequest), bias;
  if (hasBias)
    bias = b.addVariable(
        {"bias", shapes->bias, "bias_initializer", "bias_regularizer", "bias_constraint"});
  if (!kernel || (hasBias && !bias))
    return {};
  Value y = b.makeEinsum(text, {x, kernel});
  if (!y)
    return {};
  if (bias)
    y = b.make<AddOp>(y, bias);
  return applyConfiguredActivation(b, "activation", y);
}

constexpr LayerEntry kEinsumDenseLayers[] = {{"EinsumDense", importEinsumDense}};

} // namespace

llvm::ArrayRef<LayerEntry> einsumDenseLayers() { return kEinsumDenseLayers; }

} // namespace mpc::keras
