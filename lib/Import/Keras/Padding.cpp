// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Follows padded steps through a model by its config alone: where an Input is open, there is no
// graph yet. What a layer does to masks is that of keras/src/layers and tf_keras/src/layers,
// compute_mask.
#include "lib/Import/Keras/Padding.h"

#include "lib/Import/Keras/CallOrder.h"
#include "lib/Import/Keras/Dtype.h"
#include "lib/Import/Keras/LayerRegistry.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>

namespace mpc::keras {
namespace {

/// The padded steps of one tensor.
struct Steps {
  enum class Kind {
    None,    ///< there are none: padding changes nothing in it
    Given,   ///< along axis 1, as the user gives them, with no mask yet
    Masked,  ///< along axis 1, all of them masked
    Mask,    ///< a mask itself, as operations of Keras 3 compute it: false along axis 1
    Differs, ///< along axis 1, whether each feature differs from what is masked
    Lost,    ///< padding counts, or nobody knows
  };
  Kind kind = Kind::Lost;
  int64_t rank = 0; ///< where there are steps

  static Steps none() { return {Kind::None, 0}; }
};
using Results =
    llvm::SmallVector<Steps, 2>; ///< of a call; the last one is that of all further ones

/// Nested models may be called twice per level, each again.
constexpr uint64_t kMaxCalls = 20000;

bool isOneOf(const LayerConfig &layer, llvm::ArrayRef<llvm::StringRef> names) {
  return llvm::is_contained(names, layer.className);
}

bool hasValue(const llvm::json::Value *value) {
  return value && value->kind() != llvm::json::Value::Null;
}

bool flag(const llvm::json::Object &config, llvm::StringRef name) {
  return readFlag(config.get(name)).value_or(false);
}

/// Whether the layer's `axis`, one number or a list, is the last one alone.
bool isOnLastAxis(const LayerConfig &layer, int64_t rank) {
  const llvm::json::Value *axis = layer.config.get("axis");
  if (const llvm::json::Array *list = axis ? axis->getAsArray() : nullptr) {
    if (list->size() != 1)
      return false;
    axis = &list->front();
  }
  if (!hasValue(axis))
    return layer.className != "Normalization"; // their default; None is all axes
  const int64_t number = axis->getAsInteger().value_or(0);
  return number == -1 || number == rank - 1;
}

/// Whether each step's result follows from this step alone, masks pass on, and what the layer adds
/// to the loss or learns does not follow from masked steps.
bool keepsStepsApart(const LayerConfig &layer, int64_t rank) {
  const LayerEntry *entry = findLayer(layer);
  if (!entry || entry->masking != Masking::PassesOn)
    return false;
  if (isOneOf(layer, {"LayerNormalization", "UnitNormalization", "Normalization"}))
    return isOnLastAxis(layer, rank);
  if (layer.className == "BatchNormalization") // Keras 2 takes its statistics of all steps
    return !layer.version.isKeras2() && isOnLastAxis(layer, rank);
  return entry->onLastAxis || isOneOf(layer, {"AlphaDropout", "GaussianDropout", "GaussianNoise",
                                              "PReLU", "SpatialDropout1D"});
}

/// Recurrences and Bidirectional, which skip masked steps.
Results recur(const LayerConfig &layer, Steps steps) {
  const LayerConfig *recurrence = &layer;
  llvm::Expected<LayerConfig> inner = LayerConfig();
  if (layer.className == "Bidirectional") {
    const llvm::json::Value *held = layer.config.get("layer");
    inner = parseLayerConfig(held ? *held : llvm::json::Value(nullptr), "", "", layer.version);
    if (!inner) {
      llvm::consumeError(inner.takeError());
      return {Steps()};
    }
    recurrence = &*inner;
    if (!isOneOf(*inner, {"GRU", "LSTM", "RNN", "SimpleRNN"}) ||
        hasValue(inner->config.get("activity_regularizer")) ||
        (layer.config.get("merge_mode") && !hasValue(layer.config.get("merge_mode"))))
      return {Steps()};
  }
  const llvm::json::Object &config = recurrence->config;
  const bool sequences = flag(config, "return_sequences");
  // Backwards the steps change places, and their mask does not; Bidirectional turns them again.
  if (steps.rank != 3 || flag(config, "time_major") ||
      (sequences && flag(config, "go_backwards") && recurrence == &layer))
    return {Steps()};
  return {sequences ? steps : Steps::none(), Steps::none()};
}

/// The tensors that a layer is called with.
struct Operands {
  llvm::SmallVector<Steps> steps;
  std::optional<Steps> mask; ///< of the keyword `mask`
};

/// Masks as Keras 3 records them: operations on what the mask is made of.
Steps computeMask(const LayerConfig &layer, const Node &node, llvm::ArrayRef<Steps> steps) {
  using Kind = Steps::Kind;
  const Steps first = steps.front();
  if (layer.className == "NotEqual" && first.kind == Kind::Given && steps.size() == 1 &&
      node.arguments.size() == 2 && node.arguments[0].kind == Argument::Kind::Tensor)
    return {first.rank == 2 ? Kind::Mask : Kind::Differs, first.rank};
  if (layer.className == "Any" && first.kind == Kind::Differs && isOnLastAxis(layer, first.rank))
    return {Kind::Mask, 2};
  const bool joins = isOneOf(layer, {"LogicalAnd", "LogicalOr"});
  return joins && llvm::all_of(steps, [](Steps one) { return one.kind == Kind::Mask; }) ? first
                                                                                        : Steps();
}

/// The results that a layer, no model, makes of its arguments.
Results call(const LayerConfig &layer, const Node &node, const Operands &operands) {
  using Kind = Steps::Kind;
  llvm::ArrayRef<Steps> steps = operands.steps;
  auto isNone = [](Steps one) { return one.kind == Kind::None; };
  if (llvm::all_of(steps, isNone) && (!operands.mask || isNone(*operands.mask)))
    return {Steps::none()};
  if (steps.empty() || hasValue(layer.config.get("activity_regularizer")))
    return {Steps()};
  if (isOperation(layer))
    return {computeMask(layer, node, steps)};
  const Steps first = steps.front();
  const bool alone = llvm::all_of(steps.drop_front(), isNone);
  if (first.kind == Kind::Given && alone) {
    const bool masks =
        layer.className == "Masking"
            ? first.rank == 3
            : layer.className == "Embedding" && first.rank == 2 && flag(layer.config, "mask_zero");
    return {masks ? Steps{Kind::Masked, 3} : Steps()};
  }
  if (first.kind != Kind::Masked || (operands.mask && operands.mask->kind != Kind::Mask))
    return {Steps()};
  // Keras 3 finds no mask by itself where a layer has several tensors.
  const bool findsMask = steps.size() == 1 || operands.mask || layer.version.isKeras2();
  if (alone && findsMask && isOneOf(layer, {"Bidirectional", "GRU", "LSTM", "RNN", "SimpleRNN"}))
    return recur(layer, first);
  if (steps.size() == 1 && layer.className == "GlobalAveragePooling1D")
    return {layer.config.getString("data_format") != "channels_first" ? Steps::none() : Steps()};
  const bool merges =
      isOneOf(layer, {"Add", "Average", "Maximum", "Minimum", "Multiply", "Subtract"}) ||
      (layer.className == "Concatenate" && isOnLastAxis(layer, first.rank));
  if (merges && !operands.mask && llvm::all_of(steps, [&](Steps one) {
        return one.kind == Kind::Masked && one.rank == first.rank;
      }))
    return {first};
  return {steps.size() == 1 && keepsStepsApart(layer, first.rank) ? first : Steps()};
}

/// The steps that an InputLayer gives, where the user does.
Steps given(const llvm::json::Array *shape) {
  if (!shape || shape->empty())
    return {};
  auto isOpen = [](const llvm::json::Value &extent) {
    return extent.getAsInteger().value_or(-1) < 0;
  };
  if (llvm::none_of(llvm::drop_begin(*shape), isOpen))
    return Steps::none();
  const bool steps = shape->size() <= 3 && isOpen((*shape)[1]) &&
                     llvm::none_of(llvm::drop_begin(*shape, 2), isOpen);
  return steps ? Steps{Steps::Kind::Given, int64_t(shape->size())} : Steps();
}

Steps given(const LayerConfig &layer) {
  const llvm::json::Array *shape = layer.config.getArray("batch_shape");
  return given(shape ? shape : layer.config.getArray("batch_input_shape"));
}

/// The number that a layer or operation masks; nothing for others.
std::optional<double> maskedValue(const LayerConfig &layer, const Node &node) {
  if (layer.className == "Masking")
    return layer.config.getNumber("mask_value").value_or(0);
  if (layer.className == "Embedding" && flag(layer.config, "mask_zero"))
    return 0;
  if (layer.className == "NotEqual" && node.arguments.size() == 2)
    return node.arguments[1].constant.getAsNumber();
  return std::nullopt;
}

/// A Functional model's calls, producers first.
class Graph {
public:
  struct Call {
    const LayerConfig *layer;
    const Node *node;                       ///< null of an InputLayer
    std::vector<const TensorRef *> tensors; ///< but the mask
    const TensorRef *mask = nullptr;        ///< of the keyword `mask`
    Results results;
  };

  explicit Graph(const ModelConfig &model) {
    for (const LayerConfig &layer : model.layers) {
      const bool isInput = layer.className == "InputLayer";
      for (size_t i = 0; i < (isInput ? 1 : layer.calls.size()); ++i) {
        numbers[{layer.name, i}] = unsigned(calls.size());
        calls.push_back({&layer, isInput ? nullptr : &layer.calls[i], {}, nullptr, {}});
      }
    }
    std::vector<OrderedCall> ordered;
    for (Call &call : calls) {
      collectTensors(call);
      OrderedCall &entry = ordered.emplace_back(OrderedCall{call.layer, {}});
      for (const TensorRef *tensor : call.tensors)
        if (auto producer = numbers.find({tensor->layer, tensor->node}); producer != numbers.end())
          entry.producers.push_back(producer->second);
      if (call.mask)
        if (auto producer = numbers.find({call.mask->layer, call.mask->node});
            producer != numbers.end())
          entry.producers.push_back(producer->second);
    }
    std::vector<unsigned> ends;
    for (const TensorRef *tensor : model.outputs.tensors())
      if (auto producer = numbers.find({tensor->layer, tensor->node}); producer != numbers.end())
        ends.push_back(producer->second);
    order = orderCalls(ordered, ends);
  }

  /// The known steps of a tensor; Lost for one without a producer, or of a cycle: other code
  /// reports these.
  Steps read(const TensorRef &tensor) const {
    if (tensor.array)
      return Steps::none();
    auto producer = numbers.find({tensor.layer, tensor.node});
    if (producer == numbers.end() || calls[producer->second].results.empty())
      return {};
    const Results &results = calls[producer->second].results;
    return results[std::min<uint64_t>(tensor.tensor, results.size() - 1)];
  }

  std::vector<Call> calls;
  std::vector<unsigned> order;

private:
  static void collectTensors(Call &call) {
    if (!call.node)
      return;
    for (const Argument &argument : call.node->arguments)
      llvm::append_range(call.tensors, argument.tensors());
    for (const auto &[keyword, argument] : call.node->keywords) {
      const std::vector<const TensorRef *> tensors = argument.tensors();
      if (keyword == "mask" && tensors.size() == 1)
        call.mask = tensors.front();
      else
        llvm::append_range(call.tensors, tensors);
    }
  }

  std::map<std::pair<llvm::StringRef, uint64_t>, unsigned> numbers; ///< a layer's name, its call
};

class Walk {
public:
  /// The results of a model; of the outermost one `arguments` is null.
  Results run(const ModelConfig &model, const llvm::ArrayRef<Steps> *arguments) {
    Results results = model.kind == ModelConfig::Kind::Sequential ? runInARow(model, arguments)
                                                                  : runGraph(model, arguments);
    note(results);
    return results;
  }

  /// Whether padding counts nowhere, and one number is all that is masked.
  bool isCovered() const { return !lost && masked && values.size() == 1; }

private:
  void note(llvm::ArrayRef<Steps> results) {
    for (Steps steps : results) {
      lost |= steps.kind == Steps::Kind::Lost;
      masked |= steps.kind == Steps::Kind::Masked;
    }
  }

  Results runLayer(const LayerConfig &layer, const Node &node, const Operands &operands) {
    if (lost || ++callCount > kMaxCalls) {
      lost = true;
      return {Steps()};
    }
    const llvm::ArrayRef<Steps> steps = operands.steps;
    const bool isNone =
        llvm::all_of(steps, [](Steps one) { return one.kind == Steps::Kind::None; });
    if (layer.model)
      return operands.mask ? Results{Steps()}
             : isNone      ? Results{Steps::none()}
                           : run(*layer.model, &steps);
    if (std::optional<double> value = maskedValue(layer, node); value && !isNone)
      values.insert(*value);
    Results results = call(layer, node, operands);
    note(results);
    return results;
  }

  Results runInARow(const ModelConfig &model, const llvm::ArrayRef<Steps> *arguments) {
    Steps steps;
    if (arguments && arguments->size() == 1) {
      steps = arguments->front();
    } else if (!arguments && model.buildShape) {
      llvm::json::Array shape;
      for (int64_t extent : *model.buildShape)
        shape.push_back(extent);
      steps = given(&shape);
    }
    for (const LayerConfig &layer : model.layers) {
      if (layer.className != "InputLayer")
        steps = runLayer(layer, Node(), {{steps}, std::nullopt}).front();
      else if (!arguments)
        steps = given(layer);
    }
    return {steps};
  }

  Results runGraph(const ModelConfig &model, const llvm::ArrayRef<Steps> *arguments) {
    Graph graph(model);
    const std::vector<const TensorRef *> inputs = model.inputs.tensors();
    // A dictionary may come in another order.
    const bool inOrder = arguments && arguments->size() == inputs.size() &&
                         (inputs.size() == 1 || model.inputs.kind != Argument::Kind::Dict);
    for (unsigned number : graph.order) {
      Graph::Call &call = graph.calls[number];
      if (!call.node) {
        auto place = llvm::find_if(
            inputs, [&](const TensorRef *input) { return input->layer == call.layer->name; });
        call.results = {!arguments                         ? given(*call.layer)
                        : inOrder && place != inputs.end() ? (*arguments)[place - inputs.begin()]
                                                           : Steps()};
        continue;
      }
      Operands operands;
      for (const TensorRef *tensor : call.tensors)
        operands.steps.push_back(graph.read(*tensor));
      if (call.mask)
        operands.mask = graph.read(*call.mask);
      call.results = runLayer(*call.layer, *call.node, operands);
    }
    Results results;
    for (const TensorRef *tensor : model.outputs.tensors())
      results.push_back(graph.read(*tensor));
    return results.empty() ? Results{Steps()} : results;
  }

  bool lost = false, masked = false;
  std::set<double> values; ///< that are masked
  uint64_t callCount = 0;
};

} // namespace

bool masksCoverPadding(const ModelConfig &model) {
  Walk walk;
  const Results outputs = walk.run(model, nullptr);
  // The mean of a masked loss was over all steps once.
  const bool countsSteps = !model.layers.empty() && model.layers.front().version.isBefore(2, 10);
  return walk.isCovered() && llvm::all_of(outputs, [&](Steps steps) {
           return steps.kind == Steps::Kind::None ||
                  (steps.kind == Steps::Kind::Masked && !countsSteps);
         });
}

} // namespace mpc::keras
