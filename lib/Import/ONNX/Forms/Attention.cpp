// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Exporters write attention out as a product of queries and transposed keys, a scale, a mask, a
// softmax, and a product with values.
#include "lib/Import/ONNX/Forms/RestoreForms.h"

namespace mpc::onnx {
namespace {

/// The scores of a product, as it is or scaled by a number.
struct Scores {
  const Node *product = nullptr;
  double scale = 1;
  llvm::SmallVector<const Node *, 2> parts;
};

std::optional<Scores> findScores(const GraphIndex &index, llvm::StringRef value,
                                 const Node &reader) {
  Scores found;
  const Node *last = &reader;
  const auto step = [&](const Node *node) {
    found.parts.push_back(node);
    last = node;
    value = node->inputs[0];
  };
  if (index.findOnlyReader(value) != last)
    return std::nullopt;
  const auto isFactor = [&](llvm::StringRef name) {
    return index.findNumber(name) && index.findConstant(name)->shape.size() <= 1;
  };
  if (const Node *quotient = index.findMaker(value, "Div");
      quotient && quotient->inputs.size() == 2 && isFactor(quotient->inputs[1])) {
    found.scale = 1 / *index.findNumber(quotient->inputs[1]);
    step(quotient);
  } else if (const Node *product = index.findMaker(value, "Mul");
             product && product->inputs.size() == 2 &&
             isFactor(product->inputs[0]) != isFactor(product->inputs[1])) {
    const bool isSecond = isFactor(product->inputs[1]);
    found.scale = *index.findNumber(product->inputs[isSecond]);
    step(product);
    value = product->inputs[!isSecond];
  }
  found.product = index.findMaker(value, "MatMul");
  if (!found.product || found.product->inputs.size() != 2 || index.findOnlyReader(value) != last)
    return std::nullopt;
  found.parts.push_back(found.product);
  return found;
}

} // namespace

/// Neither keys nor values are constants: a classifier whose classes have embeddings is none.
FoundForm findAttention(const GraphIndex &index, const Node &last) {
  const Node *softmax = last.op == "MatMul" && last.inputs.size() == 2
                            ? index.findMaker(last.inputs[0], "Softmax")
                            : nullptr;
  if (!softmax || integerOf(*softmax, "axis", 0) != -1 || index.findConstant(last.inputs[1]) ||
      index.findOnlyReader(last.inputs[0]) != &last)
    return {};
  FoundForm form;
  form.parts = {&last, softmax};
  const llvm::StringRef value = softmax->inputs[0];
  std::optional<Scores> scores;
  std::vector<std::string> mask;
  if (const Node *sum = index.findMaker(value, "Add");
      sum && sum->inputs.size() == 2 && index.findOnlyReader(value) == softmax) {
    for (size_t i = 0; i < 2 && !scores; ++i)
      if ((scores = findScores(index, sum->inputs[i], *sum)))
        mask = {sum->inputs[1 - i]};
    form.parts.push_back(sum);
  } else {
    scores = findScores(index, value, *softmax);
  }
  if (!scores || index.findConstant(scores->product->inputs[1]))
    return {};
  form.parts.append(scores->parts.begin(), scores->parts.end());
  std::vector<std::string> inputs = {scores->product->inputs[0], scores->product->inputs[1],
                                     last.inputs[1]};
  inputs.insert(inputs.end(), mask.begin(), mask.end());
  Node node = makeForm(last, "SoftmaxAttention", 1, std::move(inputs));
  node.domain = kFormDomain.str();
  setAttribute(node, "scale", float(scores->scale));
  form.made.push_back(std::move(node));
  return form;
}

} // namespace mpc::onnx
