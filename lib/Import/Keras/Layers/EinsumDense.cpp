// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/core/einsum_dense.py: a contraction of the input with a kernel whose shape the
// equation gives, bias over some axes, activation.
#include "lib/Import/Keras/ActivationFunctions.h"
#include "lib/Import/Keras/LayerRegistry.h"
#include "lib/Import/Keras/Quantization/QuantizedKernel.h"

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

/// The equation with a label for each dimension that its ellipsis stands for, of an input of this
/// rank.
Equation spellOut(Equation equation, int64_t rank) {
  std::string elided;
  for (char label = 'A'; int64_t(elided.size() + equation.input.size()) < rank; ++label)
    if (!llvm::is_contained(equation.input + equation.weight + equation.output, label))
      elided += label;
  for (std::string *term : {&equation.input, &equation.output})
    *term = equation.leftElided ? elided + *term : *term + elided;
  equation.leftElided = equation.rightElided = false;
  return equation;
}

/// The equation for integers: what only the input has is summed after the product, where sums are
/// int32.
Value multiplyByEquation(B &b, const Equation &equation, Value input, Value kernel) {
  std::string output = equation.output;
  if (!mlir::isa<mlir::FloatType>(elementTypeOf(input)))
    for (char label : equation.input)
      if (!llvm::StringRef(equation.weight).contains(label) &&
          !llvm::StringRef(output).contains(label))
        output += label;
  Value product =
      b.makeEinsum(equation.input + "," + equation.weight + "->" + output, {input, kernel});
  if (!product || output.size() == equation.output.size())
    return product;
  auto axes = llvm::to_vector(llvm::seq<int64_t>(equation.output.size(), output.size()));
  return b.makeReduce(ReduceKind::Sum, product, axes, /*keepDims=*/false);
}

/// The demands of quantization on the equation (keras: _analyze_quantization_info): scales have the
/// output's dimensions, of extent 1 where the tensor that they belong to has none.
void describeKernel(const Equation &equation, KernelShape &shape) {
  for (auto [axis, label] : llvm::enumerate(equation.input))
    if (!llvm::StringRef(equation.output).contains(label))
      shape.inputAxes.push_back(int64_t(axis));
  for (auto [axis, label] : llvm::enumerate(equation.weight))
    if (!llvm::StringRef(equation.output).contains(label))
      shape.reducedAxes.push_back(int64_t(axis));
  for (char label : equation.output) {
    const size_t axis = equation.weight.find(label);
    const bool isFound = axis != std::string::npos;
    if (isFound)
      shape.scaleAxes.push_back(int64_t(axis));
    shape.scaleShape.push_back(isFound ? shape.request.shape[axis] : 1);
  }
}

/// The scale of the input, whose contracted dimensions have extent 1, with the output's dimensions.
Value alignInputScale(B &b, const Equation &equation, Value scale) {
  llvm::SmallVector<int64_t> order, extents;
  for (char label : equation.output) {
    const size_t axis = equation.input.find(label);
    extents.push_back(axis == std::string::npos ? 1 : b.shapeOf(scale)[axis]);
    if (axis != std::string::npos)
      order.push_back(int64_t(axis));
  }
  for (auto [axis, label] : llvm::enumerate(equation.input))
    if (!llvm::is_contained(equation.output, label))
      order.push_back(int64_t(axis));
  if (!llvm::is_sorted(order))
    scale = b.make<TransposeOp>(scale, order);
  return b.makeReshape(scale, extents);
}

Value importEinsumDense(B &b) {
  Value x = b.getFloatInput(/*castIntegers=*/true);
  if (!x)
    return {};
  const Quantization quantization =
      b.getQuantization({QuantizationMode::Int8, QuantizationMode::Int4, QuantizationMode::Float8,
                         QuantizationMode::GPTQ, QuantizationMode::AWQ});
  const LowRank lowRank = readLowRank(b, "kernel_constraint", /*readsAlpha=*/true);
  const std::string text = b.getString("equation", "");
  std::optional<Equation> equation = Equation::parse(text);
  if (!equation)
    return b.error("the equation '" + text +
                   "' must have the form [X],[Y]->[Z], ...[X],[Y]->...[Z] or [X]...,[Y]->[Z]...");
  const std::string axes = b.getString("bias_axes", "");
  std::optional<EinsumShapes> shapes = findShapes(
      b, *equation, x, axes.empty() ? std::nullopt : std::optional<llvm::StringRef>(axes));
  if (!shapes || b.hasFailed())
    return {};
  const Equation full = spellOut(*equation, b.rankOf(x));
  if (lowRank && quantization && full.weight.back() != full.output.back())
    return b.error(
        "LoRA of a quantized EinsumDense needs the kernel's last dimension at the end of "
        "the output, and Keras does not compute '" +
        text + "' either");
  auto multiply = [&](Value input, Value kernel) {
    return multiplyByEquation(b, full, input, kernel);
  };
  auto alignInput = [&](Value scale) { return alignInputScale(b, full, scale); };
  KernelShape shape{
      {"kernel", shapes->kernel, "kernel_initializer", "kernel_regularizer", "kernel_constraint"},
      /*reducedAxes=*/{},
      /*scaleAxes=*/{},
      /*scaleShape=*/{},
      /*inputAxes=*/{},
      /*isMatrix=*/false,
      multiply,
      alignInput,
      lowRank};
  shape.request.inputAxes = shapes->inputAxes;
  shape.request.outputAxes = shapes->outputAxes;
  describeKernel(full, shape);
  if (quantization.mode == QuantizationMode::Int8 && shape.reducedAxes.empty())
    return b.error(
        "'" + text +
        "' contracts no dimension of the kernel, so that nothing has a scale of its own; "
        "leave the layer out of the quantization by a policy map");
  QuantizedKernel kernel(b, quantization, shape);
  Value bias;
  if (!kernel.addVariables([&] {
        if (axes.empty())
          return true;
        bias = b.addVariable(
            {"bias", shapes->bias, "bias_initializer", "bias_regularizer", "bias_constraint"});
        return bool(bias);
      }))
    return {};
  Value y = kernel.multiply(x);
  if (!y || b.hasFailed())
    return {};
  if (bias)
    y = b.make<AddOp>(y, kernel.prepareBias(bias));
  return applyConfiguredActivation(b, "activation", y);
}

constexpr LayerEntry kEinsumDenseLayers[] = {{"EinsumDense", importEinsumDense}};

} // namespace

llvm::ArrayRef<LayerEntry> einsumDenseLayers() { return kEinsumDenseLayers; }

} // namespace mpc::keras
