// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Normalisations and activations of floating numbers, as exporters write them out.
#include "lib/Import/ONNX/Forms/RestoreForms.h"

#include <cmath>

namespace mpc::onnx {
namespace {

using Parts = llvm::SmallVector<const Node *>;

/// The operand of a commutative node of this operation that is a number near `number`, and then the
/// other one; empty where there is none.
llvm::StringRef besideNumber(const GraphIndex &index, const Node *node, double number) {
  if (!node || node->inputs.size() != 2)
    return {};
  for (size_t i = 0; i < 2; ++i)
    if (index.isNumber(node->inputs[i], number))
      return node->inputs[1 - i];
  return {};
}

/// The one axis of a reduction that keeps it, where that is the last; the reduced value.
llvm::StringRef reducedLast(const GraphIndex &index, const Node *node) {
  if (!node || node->inputs.empty() || integerOf(*node, "keepdims", 1) != 1)
    return {};
  bool isLast = false;
  if (node->inputs.size() > 1)
    isLast = index.findNumber(node->inputs[1]) == -1.0;
  for (const Attribute &attribute : node->attributes)
    if (const auto *axes = std::get_if<std::vector<int64_t>>(&attribute.value);
        axes && attribute.name == "axes")
      isLast = *axes == std::vector<int64_t>{-1};
  return isLast ? llvm::StringRef(node->inputs[0]) : llvm::StringRef();
}

/// The value that a node squares, as a power or as a product with itself; the node joins the parts.
llvm::StringRef squared(const GraphIndex &index, llvm::StringRef value, Parts &parts) {
  if (const Node *power = index.findMaker(value, "Pow");
      power && power->inputs.size() == 2 && index.isNumber(power->inputs[1], 2)) {
    parts.push_back(power);
    return power->inputs[0];
  }
  if (const Node *product = index.findMaker(value, "Mul");
      product && product->inputs.size() == 2 && product->inputs[0] == product->inputs[1]) {
    parts.push_back(product);
    return product->inputs[0];
  }
  return {};
}

/// The root of the mean of squares and a small number: what is squared, and the number.
struct RootMeanSquare {
  llvm::StringRef value;
  double epsilon = 0;
};

std::optional<RootMeanSquare> findRoot(const GraphIndex &index, llvm::StringRef value,
                                       Parts &parts) {
  const Node *root = index.findMaker(value, "Sqrt");
  const Node *sum = root ? index.findMaker(root->inputs[0], "Add") : nullptr;
  if (!sum || sum->inputs.size() != 2)
    return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const std::optional<double> epsilon = index.findNumber(sum->inputs[i]);
    const Node *mean = index.findMaker(sum->inputs[1 - i], "ReduceMean");
    if (!epsilon || !mean)
      continue;
    Parts found = {root, sum, mean};
    const llvm::StringRef inner = squared(index, reducedLast(index, mean), found);
    if (inner.empty())
      return std::nullopt;
    parts.append(found.begin(), found.end());
    return RootMeanSquare{inner, *epsilon};
  }
  return std::nullopt;
}

/// A vector of weights and the value that a node of this operation combines it with.
std::optional<std::pair<std::string, std::string>> besideVector(const GraphIndex &index,
                                                                const Node *node) {
  if (!node || node->inputs.size() != 2)
    return std::nullopt;
  for (size_t i = 0; i < 2; ++i)
    if (const Tensor *tensor = index.findConstant(node->inputs[i]);
        tensor && tensor->shape.size() == 1)
      return std::pair(node->inputs[i], node->inputs[1 - i]);
  return std::nullopt;
}

/// (1 + `inner`(x …)) x / 2, in whichever order: the node that has `inner`'s value, and x.
struct HalfProduct {
  const Node *inner = nullptr;
  std::string x;
};

HalfProduct findHalfProduct(const GraphIndex &index, const Node &last, llvm::StringRef inner,
                            Parts &parts) {
  for (size_t split = 0; split < 2; ++split) {
    const Node *product = index.findMaker(last.inputs[split], "Mul");
    if (!product || product->inputs.size() != 2)
      continue;
    // A half, x, and 1 + inner, in any order.
    llvm::SmallVector<std::string> factors = {product->inputs[0], product->inputs[1],
                                              last.inputs[1 - split]};
    auto *half =
        llvm::find_if(factors, [&](llvm::StringRef factor) { return index.isNumber(factor, 0.5); });
    if (half == factors.end())
      continue;
    factors.erase(half);
    for (size_t i = 0; i < 2; ++i) {
      const Node *sum = index.findMaker(factors[i], "Add");
      const Node *maker = index.findMaker(besideNumber(index, sum, 1), inner);
      if (!maker)
        continue;
      parts.append({&last, product, sum, maker});
      return {maker, factors[1 - i]};
    }
  }
  return {};
}

/// Whether `value` is the argument of the hyperbolic tangent of GELU's approximation of `x`.
bool isApproximation(const GraphIndex &index, llvm::StringRef value, llvm::StringRef x,
                     Parts &parts) {
  const Node *scaled = index.findMaker(value, "Mul");
  const Node *sum = index.findMaker(besideNumber(index, scaled, std::sqrt(2 / M_PI)), "Add");
  const llvm::StringRef rest = sum ? otherOperand(*sum, x) : llvm::StringRef();
  const Node *term = index.findMaker(rest, "Mul");
  const Node *cube = index.findMaker(besideNumber(index, term, 0.044715), "Pow");
  if (!cube || cube->inputs.size() != 2 || cube->inputs[0] != x ||
      !index.isNumber(cube->inputs[1], 3))
    return false;
  parts.append({scaled, sum, term, cube});
  return true;
}

} // namespace

/// (x - mean) / root of the mean of its squares, times a vector, plus a vector.
FoundForm findLayerNormalization(const GraphIndex &index, const Node &last) {
  auto shift = last.op == "Add" ? besideVector(index, &last) : std::nullopt;
  const Node *product = shift ? index.findMaker(shift->second, "Mul") : nullptr;
  auto scale = besideVector(index, product);
  const Node *quotient = scale ? index.findMaker(scale->second, "Div") : nullptr;
  if (!quotient || quotient->inputs.size() != 2)
    return {};
  Parts parts = {&last, product, quotient};
  auto root = findRoot(index, quotient->inputs[1], parts);
  const Node *difference = index.findMaker(quotient->inputs[0], "Sub");
  if (!root || !difference || difference->inputs.size() != 2)
    return {};
  const Node *mean = index.findMaker(difference->inputs[1], "ReduceMean");
  // Some exporters subtract twice.
  const Node *other = index.findMaker(root->value, "Sub");
  if (!other || other->inputs != difference->inputs ||
      reducedLast(index, mean) != difference->inputs[0] ||
      index.findConstant(scale->first)->shape != index.findConstant(shift->first)->shape)
    return {};
  parts.append({difference, mean});
  if (other != difference)
    parts.push_back(other);
  if (index.findConstant(scale->first)->type == DataType::Double)
    return {}; // whose statistics ONNX's operation has in float32
  Node node =
      makeForm(last, "LayerNormalization", 17, {difference->inputs[0], scale->first, shift->first});
  setAttribute(node, "epsilon", float(root->epsilon));
  return {{std::move(node)}, std::move(parts)};
}

/// x / root of the mean of its squares, or times the reciprocal, times a vector.
FoundForm findRMSNormalization(const GraphIndex &index, const Node &last) {
  auto scale = last.op == "Mul" ? besideVector(index, &last) : std::nullopt;
  if (!scale)
    return {};
  Parts parts = {&last};
  std::optional<RootMeanSquare> root;
  std::string x;
  if (const Node *quotient = index.findMaker(scale->second, "Div");
      quotient && quotient->inputs.size() == 2) {
    parts.push_back(quotient);
    x = quotient->inputs[0];
    root = findRoot(index, quotient->inputs[1], parts);
  } else if (const Node *product = index.findMaker(scale->second, "Mul");
             product && product->inputs.size() == 2) {
    for (size_t i = 0; i < 2 && !root; ++i)
      if (const Node *reciprocal = index.findMaker(product->inputs[i], "Reciprocal")) {
        parts.append({product, reciprocal});
        x = product->inputs[1 - i];
        root = findRoot(index, reciprocal->inputs[0], parts);
      }
  }
  if (!root || root->value != x || index.findConstant(scale->first)->type == DataType::Double)
    return {};
  Node node = makeForm(last, "RMSNormalization", 23, {x, scale->first});
  setAttribute(node, "epsilon", float(root->epsilon));
  return {{std::move(node)}, std::move(parts)};
}

FoundForm findGelu(const GraphIndex &index, const Node &last) {
  if (last.op != "Mul" || last.inputs.size() != 2)
    return {};
  Parts parts;
  if (HalfProduct half = findHalfProduct(index, last, "Erf", parts); half.inner) {
    const Node *quotient = index.findMaker(half.inner->inputs[0], "Div");
    const Node *product = index.findMaker(half.inner->inputs[0], "Mul");
    const bool isQuotient = quotient && quotient->inputs.size() == 2 &&
                            quotient->inputs[0] == half.x &&
                            index.isNumber(quotient->inputs[1], M_SQRT2);
    if (!isQuotient && besideNumber(index, product, M_SQRT1_2) != half.x)
      return {};
    parts.push_back(isQuotient ? quotient : product);
    return {{makeForm(last, "Gelu", 20, {half.x})}, std::move(parts)};
  }
  parts.clear();
  HalfProduct half = findHalfProduct(index, last, "Tanh", parts);
  if (!half.inner || !isApproximation(index, half.inner->inputs[0], half.x, parts))
    return {};
  Node node = makeForm(last, "Gelu", 20, {half.x});
  setAttribute(node, "approximate", llvm::StringRef("tanh"));
  return {{std::move(node)}, std::move(parts)};
}

/// x times its sigmoid.
FoundForm findSwish(const GraphIndex &index, const Node &last) {
  if (last.op != "Mul" || last.inputs.size() != 2)
    return {};
  for (size_t i = 0; i < 2; ++i)
    if (const Node *sigmoid = index.findMaker(last.inputs[i], "Sigmoid");
        sigmoid && sigmoid->inputs[0] == last.inputs[1 - i])
      return {{makeForm(last, "Swish", 24, {last.inputs[1 - i]})}, {&last, sigmoid}};
  return {};
}

} // namespace mpc::onnx
