// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Its quantizer writes such nodes into QOperator files and, of 16 and 4 bits, into QDQ files; a
// session that saves its optimized model writes the fused ones.
#include "lib/Import/ONNX/Forms/Contributed.h"

#include "lib/Import/ONNX/Forms/RestoreForms.h"

#include "llvm/ADT/STLExtras.h"

namespace mpc::onnx {
namespace {

using Names = std::vector<std::string>;

/// The nodes that take the place of one.
class Expansion {
public:
  explicit Expansion(const Node &node) : node(node) {}

  const Node &node;
  std::vector<Node> made;

  bool has(size_t i) const { return i < node.inputs.size() && !node.inputs[i].empty(); }
  std::string get(size_t i) const { return has(i) ? node.inputs[i] : std::string(); }
  const Attribute *find(llvm::StringRef name) const {
    for (const Attribute &attribute : node.attributes)
      if (attribute.name == name)
        return &attribute;
    return nullptr;
  }
  std::string getText(llvm::StringRef name) const {
    const Attribute *found = find(name);
    const auto *text = found ? std::get_if<std::string>(&found->value) : nullptr;
    return text ? *text : "";
  }
  float getNumber(llvm::StringRef name, float otherwise) const {
    const Attribute *found = find(name);
    const auto *number = found ? std::get_if<float>(&found->value) : nullptr;
    return number ? *number : otherwise;
  }

  /// A node between, and the name of its result.
  std::string add(llvm::StringRef op, int64_t opset, Names inputs) {
    Node between = makeForm(node, op, opset, std::move(inputs));
    between.name.clear();
    between.outputs = {node.outputs.front() + "/" + op.str()};
    for (const Node &other : made)
      if (other.outputs == between.outputs)
        between.outputs.front() += "_";
    made.push_back(std::move(between));
    return made.back().outputs.front();
  }
  /// The attributes of the node that have these names are those of the node made last.
  void keep(llvm::ArrayRef<llvm::StringRef> names) {
    for (llvm::StringRef name : names)
      if (const Attribute *found = find(name))
        made.back().attributes.push_back(*found);
  }
  void set(llvm::StringRef name, float value) { setAttribute(made.back(), name, value); }
  void set(llvm::StringRef name, int64_t value) { setAttribute(made.back(), name, value); }
  void set(llvm::StringRef name, llvm::StringRef value) { setAttribute(made.back(), name, value); }
  std::string addNumber(float value) {
    std::string name = add("Constant", 13, {});
    set("value_float", value);
    return name;
  }
  /// The node made last has the name and the results of the whole.
  void finish() {
    made.back().name = node.name;
    made.back().outputs = {node.outputs.front()};
  }

  std::string dequantize(size_t value, size_t scale, size_t zero) {
    Names inputs = {get(value), get(scale)};
    if (has(zero))
      inputs.push_back(get(zero));
    return add("DequantizeLinear", 13, std::move(inputs));
  }
  void quantize(std::string value, size_t scale, size_t zero) {
    Names inputs = {std::move(value), get(scale)};
    if (has(zero))
      inputs.push_back(get(zero));
    add("QuantizeLinear", 13, std::move(inputs));
  }
};

/// False where the node is none that has this form; it stays.
using Expand = bool (*)(Expansion &);

/// The node is one that ONNX has by the same name and with the same attributes, of this opset.
template <int64_t opset> bool rename(Expansion &e) {
  Node same = e.node;
  same.domain.clear();
  same.opset = opset;
  e.made.push_back(std::move(same));
  return true;
}

/// An operation of one quantized tensor: the inputs are X, its scale and zero point, those of Y.
bool expandUnary(Expansion &e, llvm::StringRef op, int64_t opset,
                 llvm::ArrayRef<llvm::StringRef> attributes) {
  e.add(op, opset, {e.dequantize(0, 1, 2)});
  e.keep(attributes);
  e.quantize(e.made.back().outputs.front(), 3, 4);
  return true;
}

bool leakyRelu(Expansion &e) { return expandUnary(e, "LeakyRelu", 16, {"alpha"}); }
bool sigmoid(Expansion &e) { return expandUnary(e, "Sigmoid", 13, {}); }
bool reduceMean(Expansion &e) { return expandUnary(e, "ReduceMean", 13, {"axes", "keepdims"}); }
bool softmax(Expansion &e) {
  const int64_t opset = integerOf(e.node, "opset", 13);
  return expandUnary(e, "Softmax", opset, {"axis"});
}
bool averagePool(Expansion &e) {
  return integerOf(e.node, "channels_last", 0) == 0 &&
         expandUnary(
             e, "AveragePool", 11,
             {"auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides"});
}

bool where(Expansion &e) {
  std::string x = e.dequantize(1, 2, 3), y = e.dequantize(4, 5, 6);
  e.quantize(e.add("Where", 16, {e.get(0), x, y}), 7, 8);
  return true;
}

bool concat(Expansion &e) {
  Names parts;
  for (size_t i = 2; i + 2 < e.node.inputs.size(); i += 3)
    parts.push_back(e.dequantize(i, i + 1, i + 2));
  if (parts.empty() || e.node.inputs.size() % 3 != 2)
    return false;
  std::string whole = e.add("Concat", 13, std::move(parts));
  e.keep({"axis"});
  e.quantize(std::move(whole), 0, 1);
  return true;
}

/// The activation that a fused node ends with, by its name and numbers; false for another one.
bool activate(Expansion &e, std::string x, llvm::StringRef activation,
              llvm::ArrayRef<float> numbers) {
  if (activation.empty() || activation == "Relu" || activation == "Sigmoid" ||
      activation == "Tanh" || activation == "HardSigmoid" || activation == "LeakyRelu") {
    if (activation.empty())
      return true;
    e.add(activation, 13, {std::move(x)});
    static constexpr llvm::StringRef kNames[] = {"alpha", "beta"};
    const size_t count = activation == "HardSigmoid" ? 2 : activation == "LeakyRelu" ? 1 : 0;
    for (size_t i = 0; i < count && i < numbers.size(); ++i)
      e.set(kNames[i], numbers[i]);
    return true;
  }
  if (activation == "Clip" && numbers.size() >= 2) {
    std::string least = e.addNumber(numbers[0]), most = e.addNumber(numbers[1]);
    e.add("Clip", 13, {std::move(x), std::move(least), std::move(most)});
    return true;
  }
  return false;
}

bool fusedConv(Expansion &e) {
  std::string y = e.add("Conv", 11, {e.get(0), e.get(1), e.get(2)});
  e.keep({"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
  if (e.has(3))
    y = e.add("Add", 14, {y, e.get(3)});
  const Attribute *found = e.find("activation_params");
  const auto *numbers = found ? std::get_if<std::vector<float>>(&found->value) : nullptr;
  return activate(e, y, e.getText("activation"), numbers ? *numbers : std::vector<float>());
}

bool fusedGemm(Expansion &e) {
  std::string y = e.add("Gemm", 13, {e.get(0), e.get(1), e.get(2)});
  e.keep({"alpha", "beta", "transA", "transB"});
  llvm::SmallVector<float> numbers;
  for (llvm::StringRef name : {"activation_alpha", "activation_beta", "activation_gamma"})
    if (e.find(name))
      numbers.push_back(e.getNumber(name, 0));
  return activate(e, y, e.getText("activation"), numbers);
}

bool fusedMatMul(Expansion &e) {
  if (integerOf(e.node, "transBatchA", 0) || integerOf(e.node, "transBatchB", 0))
    return false;
  const bool isLhs = integerOf(e.node, "transA", 0), isRhs = integerOf(e.node, "transB", 0);
  std::string y;
  if (isLhs || isRhs) {
    y = e.add("Einsum", 12, {e.get(0), e.get(1)});
    e.set("equation",
          std::string(isLhs ? "...ji," : "...ij,") + (isRhs ? "...kj" : "...jk") + "->...ik");
  } else {
    y = e.add("MatMul", 13, {e.get(0), e.get(1)});
  }
  if (const float alpha = e.getNumber("alpha", 1.0F); alpha != 1.0F) {
    std::string factor = e.addNumber(alpha);
    factor = e.add("CastLike", 15, {factor, y});
    e.add("Mul", 14, {y, factor});
  }
  return true;
}

// ---- Activations and normalisations of transformers ---------------------------------------------

bool biasedGelu(Expansion &e, bool isTanh) {
  std::string x = e.get(0);
  if (e.has(1))
    x = e.add("Add", 14, {x, e.get(1)});
  e.add("Gelu", 20, {x});
  if (isTanh)
    e.set("approximate", llvm::StringRef("tanh"));
  return true;
}
bool biasGelu(Expansion &e) { return biasedGelu(e, false); }
bool fastGelu(Expansion &e) { return biasedGelu(e, true); }

bool quickGelu(Expansion &e) {
  e.add("Swish", 24, {e.get(0)});
  e.set("alpha", e.getNumber("alpha", 1.702F));
  return true;
}

/// A residual added in front of a normalisation; result 3 is the sum.
bool skipNormalization(Expansion &e, llvm::StringRef op, int64_t opset, Names factors,
                       size_t bias) {
  for (size_t i = 1; i < e.node.outputs.size(); ++i)
    if (i != 3 && !e.node.outputs[i].empty())
      return false;
  std::string sum = e.add("Add", 14, {e.get(0), e.get(1)});
  if (e.has(bias))
    sum = e.add("Add", 14, {sum, e.get(bias)});
  if (e.node.outputs.size() > 3 && !e.node.outputs[3].empty())
    sum = e.made.back().outputs.front() = e.node.outputs[3];
  factors.insert(factors.begin(), sum);
  e.add(op, opset, std::move(factors));
  e.keep({"epsilon"});
  if (!e.find("epsilon"))
    e.set("epsilon", 1e-12F);
  return true;
}
bool skipLayerNormalization(Expansion &e) {
  return skipNormalization(e, "LayerNormalization", 17, {e.get(2), e.get(3)}, 4);
}
bool skipRmsNormalization(Expansion &e) {
  return skipNormalization(e, "RMSNormalization", 23, {e.get(2)}, 3);
}

// ---- Products of integers -----------------------------------------------------------------------

void scaleProduct(Expansion &e, Names factors, std::string lhsScale, std::string rhsScale,
                  std::string bias) {
  std::string sums = e.add("MatMulInteger", 10, std::move(factors));
  std::string numbers = e.add("Cast", 13, {sums});
  e.set("to", int64_t(DataType::Float));
  std::string scale = e.add("Mul", 14, {std::move(lhsScale), std::move(rhsScale)});
  std::string y = e.add("Mul", 14, {numbers, scale});
  if (!bias.empty())
    e.add("Add", 14, {y, std::move(bias)});
}

bool dynamicProduct(Expansion &e) {
  std::string integers = e.add("DynamicQuantizeLinear", 11, {e.get(0)});
  std::string scale = integers + "/scale", zero = integers + "/zero";
  e.made.back().outputs = {integers, scale, zero};
  scaleProduct(e, {integers, e.get(1), zero, e.get(3)}, scale, e.get(2), e.get(4));
  return true;
}

bool productToFloat(Expansion &e) {
  scaleProduct(e, {e.get(0), e.get(1), e.get(4), e.get(5)}, e.get(2), e.get(3), e.get(6));
  return true;
}

struct Row {
  llvm::StringLiteral op;
  Expand expand;
};

constexpr Row kTable[] = {
    {"BiasGelu", biasGelu},
    {"DequantizeLinear", rename<21>},
    {"DynamicQuantizeMatMul", dynamicProduct},
    {"FastGelu", fastGelu},
    {"FusedConv", fusedConv},
    {"FusedGemm", fusedGemm},
    {"FusedMatMul", fusedMatMul},
    {"Gelu", rename<20>},
    {"MatMulIntegerToFloat", productToFloat},
    {"QLinearAveragePool", averagePool},
    {"QLinearConcat", concat},
    {"QLinearLeakyRelu", leakyRelu},
    {"QLinearReduceMean", reduceMean},
    {"QLinearSigmoid", sigmoid},
    {"QLinearSoftmax", softmax},
    {"QLinearWhere", where},
    {"QuantizeLinear", rename<21>},
    {"QuickGelu", quickGelu},
    {"SkipLayerNormalization", skipLayerNormalization},
    {"SkipSimplifiedLayerNormalization", skipRmsNormalization},
};

} // namespace

void expandContributed(Graph &graph) {
  std::vector<Node> nodes;
  for (Node &node : graph.nodes) {
    for (Attribute &attribute : node.attributes)
      if (auto *inner = std::get_if<std::shared_ptr<Graph>>(&attribute.value)) {
        *inner = std::make_shared<Graph>(**inner);
        expandContributed(**inner);
        sortNodes(**inner);
      }
    const Row *row = node.domain == "com.microsoft" && !node.outputs.empty()
                         ? llvm::find_if(kTable, [&](const Row &row) { return row.op == node.op; })
                         : std::end(kTable);
    Expansion expansion(node);
    if (row == std::end(kTable) || !row->expand(expansion)) {
      nodes.push_back(std::move(node));
      continue;
    }
    expansion.finish();
    llvm::append_range(nodes, std::move(expansion.made));
  }
  graph.nodes = std::move(nodes);
}

} // namespace mpc::onnx
