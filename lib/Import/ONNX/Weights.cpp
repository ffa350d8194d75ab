// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/Weights.h"

#include "lib/Import/ONNX/Literal.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

#include <numeric>

namespace mpc::onnx {

namespace {

/// The inputs of an operation that hold weights, by their numbers; of -1 all of them.
llvm::ArrayRef<int> weightInputs(llvm::StringRef op) {
  static constexpr int all[] = {-1}, first[] = {0}, second[] = {1}, pair[] = {1, 2},
                       triple[] = {1, 2, 3};
  return llvm::StringSwitch<llvm::ArrayRef<int>>(op)
      .Cases({"MatMul", "Gemm", "Einsum"}, all)
      .Cases({"Conv", "ConvTranspose", "LayerNormalization", "GroupNormalization",
              "InstanceNormalization", "BatchNormalization"},
             pair)
      .Cases({"RNN", "LSTM", "GRU"}, triple)
      .Cases({"PRelu", "RMSNormalization", "SimplifiedLayerNormalization"}, second)
      .Cases({"Gather", "GatherND"}, first)
      .Default({});
}

/// Operations through which a weight goes on its way.
bool passesWeights(llvm::StringRef op) {
  return llvm::StringSwitch<bool>(op)
      .Cases({"Identity", "Transpose", "Reshape", "Cast", "Squeeze", "Unsqueeze", "Flatten"}, true)
      .Cases({"Slice", "Concat", "CastLike", "Split", "SplitToSequence", "SequenceAt"}, true)
      .Default(false);
}

/// Operations whose result may have a bias added that is no input of theirs.
bool isProduct(llvm::StringRef op) { return op == "MatMul" || op == "Einsum" || op == "Conv"; }

/// Whether the input is where biases and the factors of decomposed normalisations are, vectors
/// along the last axis. What is subtracted is a mean, or the places of knots.
bool takesVectors(llvm::StringRef op, size_t input) {
  return op == "Add" || op == "Mul" || (op == "Sub" && input == 0);
}

/// Whether the elements, which are several, are along the last axis.
bool isVector(const Tensor &tensor) {
  return !tensor.shape.empty() && tensor.shape.back() > 1 &&
         llvm::all_of(llvm::ArrayRef(tensor.shape).drop_back(),
                      [](int64_t extent) { return extent == 1; });
}

/// The initializers that a value is in another form.
struct Origin {
  llvm::SmallVector<const Tensor *, 1> tensors;
  int64_t elements = 0; ///< of the value; 0: not known

  bool isEmpty() const { return tensors.empty(); }
};

int64_t countElements(const Tensor &tensor) {
  return std::accumulate(tensor.shape.begin(), tensor.shape.end(), int64_t(1), std::multiplies<>());
}

class Origins {
public:
  Origin find(llvm::StringRef value) const { return origins.lookup(value); }
  void set(llvm::StringRef value, Origin origin) {
    Origin &known = origins[value];
    if (depth > 0)
      before.emplace_back(value.str(), std::move(known));
    known = std::move(origin);
  }

  /// Calls `visit`, behind which the values are what they were.
  void visitInside(llvm::function_ref<void()> visit) {
    const size_t count = before.size();
    ++depth;
    visit();
    --depth;
    for (; before.size() > count; before.pop_back())
      origins[before.back().first] = std::move(before.back().second);
  }

private:
  llvm::StringMap<Origin> origins;
  std::vector<std::pair<std::string, Origin>> before; ///< of the bodies that are visited
  unsigned depth = 0;
};

/// The initializers that the node's results are made of; none where it has other values beside.
Origin collectPassed(const Node &node, const Origins &origins) {
  if (!passesWeights(node.op) || node.inputs.empty())
    return {};
  Origin passed = origins.find(node.inputs.front());
  if (passed.isEmpty())
    return {};
  if (node.op == "Split")
    passed.elements /= int64_t(std::max<size_t>(node.outputs.size(), 1));
  if (node.op == "Concat" || node.op == "Slice")
    passed.elements = 0;
  if (node.op == "Concat")
    for (const std::string &input : llvm::ArrayRef(node.inputs).drop_front()) {
      const Origin other = origins.find(input);
      if (other.isEmpty())
        return {};
      passed.tensors.append(other.tensors);
    }
  return passed;
}

class Search {
  /// Values that are products, and the weight of each.
  using Products = llvm::StringMap<const Tensor *>;

public:
  void visit(const Graph &graph) {
    for (const Tensor &tensor : graph.initializers)
      if (isFloating(tensor.type))
        origins.set(tensor.name, {{&tensor}, countElements(tensor)});
    Products products;
    for (const Node &node : graph.nodes) {
      visitBodies(node);
      if (!node.domain.empty())
        continue;
      readInputs(node, products);
      if (const Tensor *weight = findWeight(node, products))
        products[node.outputs.front()] = weight;
      if (Origin passed = collectPassed(node, origins); !passed.isEmpty())
        for (const std::string &output : node.outputs)
          origins.set(output, passed);
    }
  }

  Weights weights;

private:
  /// The weight of the product that the node's result is, perhaps in another form; null for others.
  const Tensor *findWeight(const Node &node, const Products &products) const {
    if (node.outputs.empty() || node.inputs.empty())
      return nullptr;
    if (passesWeights(node.op))
      return node.outputs.size() == 1 ? products.lookup(node.inputs.front()) : nullptr;
    if (isProduct(node.op))
      for (const std::string &input : node.inputs)
        if (const Origin origin = origins.find(input); origin.tensors.size() == 1)
          return origin.tensors.front();
    return nullptr;
  }

  /// Whether the initializer is added to a product: one number for each of its columns, or filters.
  static bool isBias(const Node &node, const Origin &origin, const Products &products) {
    return node.op == "Add" && llvm::any_of(node.inputs, [&](const std::string &name) {
             const Tensor *weight = products.lookup(name);
             return weight && llvm::is_contained(weight->shape, origin.elements);
           });
  }

  void readInputs(const Node &node, const Products &products) {
    const llvm::ArrayRef<int> places = weightInputs(node.op);
    for (const auto &[i, name] : llvm::enumerate(node.inputs)) {
      const Origin origin = origins.find(name);
      const bool isTrained = llvm::is_contained(places, -1) || llvm::is_contained(places, int(i)) ||
                             isBias(node, origin, products);
      for (const Tensor *tensor : origin.tensors) {
        const bool isFactor = takesVectors(node.op, i) && isVector(*tensor);
        if (llvm::StringRef(node.op).ends_with("Normalization"))
          weights.kept.insert(tensor->name);
        if (isTrained || isFactor)
          weights.trained.insert(tensor->name);
      }
    }
  }

  /// A body reads values of the graph around it, and a loop's what it carries without a change.
  void visitBodies(const Node &node) {
    for (const Attribute &attribute : node.attributes)
      if (const auto *body = std::get_if<std::shared_ptr<Graph>>(&attribute.value); body && *body)
        origins.visitInside([&] {
          for (const ValueInfo &input : (*body)->inputs)
            origins.set(input.name, {});
          if (node.op == "Loop")
            setCarried(node, **body);
          visit(**body);
        });
  }

  /// A loop's trip count and condition stand before what it carries; its body returns a condition
  /// before that.
  void setCarried(const Node &node, const Graph &body) {
    llvm::StringMap<llvm::StringRef> sources;
    for (const Node &each : body.nodes)
      if (each.op == "Identity" && each.domain.empty() && each.inputs.size() == 1 &&
          each.outputs.size() == 1) {
        const llvm::StringRef input = each.inputs.front(), source = sources.lookup(input);
        sources[each.outputs.front()] = source.empty() ? input : source;
      }
    const size_t count =
        std::min({node.inputs.size(), body.inputs.size(), body.outputs.size() + 1});
    for (size_t i = 2; i < count; ++i) {
      const llvm::StringRef output = body.outputs[i - 1].name, source = sources.lookup(output);
      if ((source.empty() ? output : source) == body.inputs[i].name)
        origins.set(body.inputs[i].name, origins.find(node.inputs[i]));
    }
  }

  Origins origins;
};

} // namespace

Weights findWeights(const Graph &graph) {
  Search search;
  search.visit(graph);
  return std::move(search.weights);
}

} // namespace mpc::onnx
