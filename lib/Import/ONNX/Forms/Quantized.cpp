// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products and convolutions between DequantizeLinear and QuantizeLinear as the operations on
// integers that they stand for: sums of integers are exact, and rounded once.
#include "lib/Import/ONNX/Forms/RestoreForms.h"

#include <cmath>

namespace mpc::onnx {
namespace {

/// A tensor of 8 bits, or the int32 of a bias, and how its integers are numbers.
struct Dequantized {
  const Node *node = nullptr;
  std::string value, scale, zero;
  bool isWhole = true; ///< one scale for all; else one for each place of `axis`
  int64_t axis = 1;
};

bool isByte(DataType type) { return type == DataType::UInt8 || type == DataType::Int8; }

bool isScalar(const GraphIndex &index, llvm::StringRef value) {
  const Tensor *tensor = index.findConstant(value);
  return tensor && llvm::all_of(tensor->shape, [](int64_t extent) { return extent == 1; });
}

/// Scales are constants of float32, zero points of 8 bits.
std::optional<Dequantized> findDequantized(GraphIndex &index, llvm::StringRef value) {
  const Node *node = index.findMaker(value, "DequantizeLinear");
  if (!node || node->inputs.size() < 2 || !hasOnly(*node, {"axis"}))
    return std::nullopt;
  Dequantized found{node, node->inputs[0], node->inputs[1], "", true, integerOf(*node, "axis", 1)};
  const Tensor *scale = index.findConstant(found.scale);
  if (!scale || scale->type != DataType::Float || scale->shape.size() > 1)
    return std::nullopt;
  found.isWhole = isScalar(index, found.scale);
  if (node->inputs.size() > 2 && !node->inputs[2].empty()) {
    const Tensor *zero = index.findConstant(node->inputs[2]);
    if (!zero || !isByte(zero->type) || zero->shape != scale->shape)
      return std::nullopt;
    found.zero = node->inputs[2];
  } else if (const Tensor *constant = index.findConstant(found.value);
             constant && isByte(constant->type)) {
    found.zero = index.makeZero(constant->type);
  } else {
    return std::nullopt;
  }
  return found;
}

/// A bias of int32 whose scales are the products of those of the factors; empty for none. Nothing
/// where it is another one.
std::optional<std::string> findBias(const GraphIndex &index, const Node &node, size_t input,
                                    const Dequantized &lhs, const Dequantized &rhs,
                                    llvm::SmallVectorImpl<const Node *> &parts) {
  if (node.inputs.size() <= input || node.inputs[input].empty())
    return std::string();
  const Node *maker = index.findMaker(node.inputs[input], "DequantizeLinear");
  const Tensor *bias = maker ? index.findConstant(maker->inputs[0]) : nullptr;
  if (!bias || bias->type != DataType::Int32 || bias->shape.size() != 1 ||
      maker->inputs.size() < 2 || !hasOnly(*maker, {"axis"}))
    return std::nullopt;
  if (maker->inputs.size() > 2 && !maker->inputs[2].empty()) {
    const auto zeros = index.findNumbers(maker->inputs[2]);
    if (!zeros || llvm::any_of(*zeros, [](double zero) { return zero != 0; }))
      return std::nullopt;
  }
  const auto own = index.findNumbers(maker->inputs[1]), left = index.findNumbers(lhs.scale),
             right = index.findNumbers(rhs.scale);
  if (!own || !left || !right || own->empty() || left->size() != 1 ||
      (own->size() != right->size() && own->size() != 1 && right->size() != 1))
    return std::nullopt;
  for (size_t i = 0; i < std::max(own->size(), right->size()); ++i) {
    const double scale = (*own)[own->size() == 1 ? 0 : i],
                 product = left->front() * (*right)[right->size() == 1 ? 0 : i];
    if (!(std::abs(scale - product) <= 1e-5 * std::abs(product)))
      return std::nullopt;
  }
  parts.push_back(maker);
  return maker->inputs[0];
}

/// Scale and zero point of a result, of 8 bits and the same for all; and the node that is
/// quantized.
struct Requantized {
  std::string scale, zero;
  const Node *node = nullptr;
};

std::optional<Requantized> findRequantized(GraphIndex &index, const Node &last,
                                           llvm::SmallVectorImpl<const Node *> &parts) {
  if (last.op != "QuantizeLinear" || last.inputs.size() < 3 || !hasOnly(last, {"axis"}) ||
      !isScalar(index, last.inputs[1]) || !isScalar(index, last.inputs[2]))
    return std::nullopt;
  const Tensor *zero = index.findConstant(last.inputs[2]);
  const Tensor *scale = index.findConstant(last.inputs[1]);
  if (!isByte(zero->type) || scale->type != DataType::Float)
    return std::nullopt;
  parts.push_back(&last);
  llvm::StringRef value = last.inputs[0];
  // Numbers below zero saturate to the zero point where that is the least integer.
  if (const Node *relu = index.findMaker(value, "Relu");
      relu && index.findOnlyReader(value) == &last &&
      index.findNumber(last.inputs[2]) == (zero->type == DataType::UInt8 ? 0.0 : -128.0)) {
    parts.push_back(relu);
    value = relu->inputs[0];
    if (index.findOnlyReader(value) != relu)
      return std::nullopt;
  } else if (index.findOnlyReader(value) != &last) {
    return std::nullopt;
  }
  for (llvm::StringRef op : {"MatMul", "Gemm", "Conv", "Add", "Mul", "GlobalAveragePool"})
    if (const Node *node = index.findMaker(value, op)) {
      parts.push_back(node);
      return Requantized{last.inputs[1], last.inputs[2], node};
    }
  return std::nullopt;
}

/// The factors of a product, of which the second may have a scale for each column; nothing where
/// they are others.
std::optional<std::pair<Dequantized, Dequantized>> findFactors(GraphIndex &index,
                                                               const Node &node) {
  if (node.inputs.size() < 2)
    return std::nullopt;
  auto lhs = findDequantized(index, node.inputs[0]), rhs = findDequantized(index, node.inputs[1]);
  if (!lhs || !rhs || !lhs->isWhole)
    return std::nullopt;
  if (!rhs->isWhole) {
    const Tensor *weights = index.findConstant(rhs->value);
    const int64_t rank = weights ? int64_t(weights->shape.size()) : 0;
    const bool isFirst = node.op == "Conv" || integerOf(node, "transB", 0);
    const int64_t wanted = isFirst ? 0 : 1, axis = rhs->axis < 0 ? rhs->axis + rank : rhs->axis;
    if ((node.op != "Conv" && rank != 2) || rank < 2 || axis != wanted)
      return std::nullopt;
  }
  return std::pair(*lhs, *rhs);
}

bool isPlainGemm(const Node &node) {
  for (const Attribute &attribute : node.attributes) {
    const auto *number = std::get_if<float>(&attribute.value);
    if ((attribute.name == "alpha" || attribute.name == "beta") && (!number || *number != 1.0f))
      return false;
  }
  return integerOf(node, "transA", 0) == 0;
}

/// onnxruntime's operation: a product of matrices and a bias; without `result` it is dequantized.
std::optional<Node> makeProduct(const GraphIndex &index, const Node &last, const Node &gemm,
                                const Dequantized &lhs, const Dequantized &rhs,
                                const Requantized *result,
                                llvm::SmallVectorImpl<const Node *> &parts) {
  auto bias = isPlainGemm(gemm) ? findBias(index, gemm, 2, lhs, rhs, parts) : std::nullopt;
  if (!bias)
    return std::nullopt;
  std::vector<std::string> inputs = {lhs.value, lhs.scale, lhs.zero, rhs.value,
                                     rhs.scale, rhs.zero,  *bias};
  if (result)
    inputs.insert(inputs.end(), {result->scale, result->zero});
  Node node = makeForm(last, "QGemm", 1, std::move(inputs));
  node.domain = "com.microsoft";
  setAttribute(node, "transB", integerOf(gemm, "transB", 0));
  return node;
}

} // namespace

/// Sums and products of elements, each factor rounded as ONNX's operations round it, and means of
/// one type of integers as onnxruntime's operation.
static FoundForm findElementwise(GraphIndex &index, const Node &last, const Requantized &result,
                                 FoundForm form) {
  std::vector<std::string> inputs;
  const size_t count = result.node->op == "GlobalAveragePool" ? 1 : 2;
  if (result.node->inputs.size() != count)
    return {};
  const bool isMean = count == 1;
  const DataType type = index.findConstant(result.zero)->type;
  for (size_t i = 0; i < count; ++i) {
    auto operand = findDequantized(index, result.node->inputs[i]);
    if (!operand || !operand->isWhole ||
        (isMean && index.findConstant(operand->zero)->type != type))
      return {};
    form.parts.push_back(operand->node);
    inputs.insert(inputs.end(), {operand->value, operand->scale, operand->zero});
  }
  inputs.insert(inputs.end(), {result.scale, result.zero});
  Node node =
      makeForm(last, (isMean ? "QLinear" : "Quantized") + result.node->op, 1, std::move(inputs));
  node.domain = isMean ? "com.microsoft" : kFormDomain.str();
  form.made.push_back(std::move(node));
  return form;
}

FoundForm findQuantized(GraphIndex &index, const Node &last) {
  FoundForm form;
  auto result = findRequantized(index, last, form.parts);
  if (result && result->node->op != "MatMul" && result->node->op != "Gemm" &&
      result->node->op != "Conv")
    return findElementwise(index, last, *result, std::move(form));
  auto factors = result ? findFactors(index, *result->node) : std::nullopt;
  if (!factors)
    return {};
  const auto &[lhs, rhs] = *factors;
  form.parts.append({lhs.node, rhs.node});
  if (result->node->op == "Gemm") {
    auto node = makeProduct(index, last, *result->node, lhs, rhs, &*result, form.parts);
    if (!node)
      return {};
    form.made.push_back(std::move(*node));
    return form;
  }
  const bool isConvolution = result->node->op == "Conv";
  std::vector<std::string> inputs = {lhs.value, lhs.scale, lhs.zero,      rhs.value,
                                     rhs.scale, rhs.zero,  result->scale, result->zero};
  if (isConvolution) {
    auto bias = findBias(index, *result->node, 2, lhs, rhs, form.parts);
    if (!bias)
      return {};
    inputs.push_back(*bias);
  }
  Node node =
      makeForm(last, isConvolution ? "QLinearConv" : "QLinearMatMul", 10, std::move(inputs));
  node.attributes = result->node->attributes;
  form.made.push_back(std::move(node));
  return form;
}

FoundForm findDequantizedProduct(GraphIndex &index, const Node &last) {
  auto factors = last.op == "MatMul" || last.op == "Gemm" ? findFactors(index, last) : std::nullopt;
  if (!factors)
    return {};
  const auto &[lhs, rhs] = *factors;
  FoundForm form;
  form.parts = {&last, lhs.node, rhs.node};
  if (last.op == "Gemm") {
    if (auto node = makeProduct(index, last, last, lhs, rhs, nullptr, form.parts))
      form.made.push_back(std::move(*node));
    return form;
  }
  // The sums, as numbers, by both scales.
  const std::string &result = last.outputs.front();
  Node sums = makeForm(last, "MatMulInteger", 10, {lhs.value, rhs.value, lhs.zero, rhs.zero});
  sums.outputs = {result + "/sums"};
  Node numbers = makeForm(last, "Cast", 13, {result + "/sums"});
  numbers.outputs = {result + "/numbers"};
  setAttribute(numbers, "to", int64_t(DataType::Float));
  Node scales = makeForm(last, "Mul", 14, {lhs.scale, rhs.scale});
  scales.outputs = {result + "/scales"};
  form.made = {std::move(sums), std::move(numbers), std::move(scales),
               makeForm(last, "Mul", 14, {result + "/numbers", result + "/scales"})};
  return form;
}

} // namespace mpc::onnx
