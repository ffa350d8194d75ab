// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/BatchExtents.h"

namespace mpc::onnx {

/// The product or the quotient of two extents, either of which may be a multiple of the batch.
static std::optional<int64_t> compute(bool isProduct, int64_t lhs, int64_t rhs) {
  const std::optional<int64_t> left = Literal::findBatches(lhs), right = Literal::findBatches(rhs);
  if (left && right) {
    // A multiple of another one, whatever the batch is.
    const bool isWhole = !isProduct && *left % *right == 0;
    return isWhole ? std::optional(*left / *right) : std::nullopt;
  }
  if (!left && !right) {
    if (isProduct) {
      int64_t product;
      return __builtin_mul_overflow(lhs, rhs, &product) ? std::nullopt : std::optional(product);
    }
    return rhs > 0 && lhs >= 0 ? std::optional(lhs / rhs) : std::nullopt;
  }
  if (right && !isProduct)
    return std::nullopt;
  const int64_t batches = left ? *left : *right, number = left ? rhs : lhs;
  if (number < 1 || number > Literal::kMostBatches)
    return std::nullopt;
  if (!isProduct && batches % number != 0)
    return std::nullopt;
  const int64_t count = isProduct ? batches * number : batches / number;
  return count <= Literal::kMostBatches ? std::optional(Literal::numberOfBatches(count))
                                        : std::nullopt;
}

std::optional<Literal> computeExtents(const Node &node, llvm::ArrayRef<const NodeValue *> inputs) {
  const bool isProduct = node.op == "Mul";
  if (!node.domain.empty() || (!isProduct && node.op != "Div") || inputs.size() != 2)
    return std::nullopt;
  bool hasBatch = false;
  for (const NodeValue *input : inputs) {
    if (!input || !input->literal || !input->literal->isInteger())
      return std::nullopt;
    hasBatch |= input->literal->hasBatch;
  }
  if (!hasBatch)
    return std::nullopt;
  const Literal &lhs = *inputs[0]->literal, &rhs = *inputs[1]->literal;
  const int64_t left = lhs.tensor.size(), right = rhs.tensor.size();
  // Lists and numbers; one element goes with all.
  if (lhs.tensor.shape.size() > 1 || rhs.tensor.shape.size() > 1 ||
      (left != right && left != 1 && right != 1))
    return std::nullopt;
  Literal result = lhs.tensor.shape.size() >= rhs.tensor.shape.size() && left >= right ? lhs : rhs;
  result.type = lhs.type;
  result.tensor.elementType = lhs.tensor.elementType;
  result.hasBatch = false;
  for (int64_t i = 0; i < result.tensor.size(); ++i) {
    std::optional<int64_t> extent = compute(isProduct, lhs.tensor.integers[left == 1 ? 0 : i],
                                            rhs.tensor.integers[right == 1 ? 0 : i]);
    if (!extent)
      return std::nullopt;
    result.tensor.integers[i] = *extent;
    result.hasBatch |= Literal::findBatches(*extent).has_value();
  }
  return result;
}

} // namespace mpc::onnx
