// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tf_keras/src/engine/node.py, functional.py (get_network_config, reconstruct_from_config).
#include "lib/Import/Keras/Legacy/Nodes.h"

#include "lib/Import/Keras/Legacy/Config.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

#include <algorithm>

namespace mpc::keras {

namespace json = llvm::json;

namespace {

constexpr llvm::StringLiteral kConstant("_CONSTANT_VALUE");
constexpr unsigned kMaxDepth = 64; // the parser of the text allows 200 brackets in all

/// [layer, call, tensor] or [layer, call, tensor, keywords]; a constant has a value in place of the
/// tensor.
bool isReference(const json::Array &array) {
  return (array.size() == 3 || array.size() == 4) && array[0].getAsString() &&
         array[1].getAsInteger() &&
         (array[2].getAsInteger() || array[0].getAsString() == llvm::StringRef(kConstant));
}

bool isConstant(const json::Array &reference) {
  return reference[0].getAsString() == llvm::StringRef(kConstant);
}

using VisitFn = llvm::function_ref<void(json::Array &reference)>;

/// Every reference to a tensor in `value`, keywords included.
void visitReferences(json::Value &value, VisitFn visit, unsigned depth = 0) {
  if (depth > kMaxDepth)
    return;
  if (json::Array *array = value.getAsArray()) {
    if (isReference(*array) && !isConstant(*array))
      visit(*array);
    for (json::Value &item : *array)
      visitReferences(item, visit, depth + 1);
  } else if (json::Object *object = value.getAsObject()) {
    for (auto &[key, item] : *object)
      visitReferences(item, visit, depth + 1);
  }
}

json::Value tensorOf(const json::Array &reference) {
  return json::Object{
      {"class_name", "__keras_tensor__"},
      {"config",
       json::Object{{"keras_history", json::Array{reference[0], reference[1], reference[2]}}}}};
}

json::Value constantOf(const json::Value &value) {
  return json::Object{{"class_name", "__tensor__"},
                      {"config", json::Object{{"value", value}, {"dtype", "float32"}}}};
}

/// A structure in which references are tensors.
json::Value convertStructure(const json::Value &value, unsigned depth = 0) {
  if (depth > kMaxDepth)
    return value;
  if (const json::Array *array = value.getAsArray()) {
    if (isReference(*array))
      return isConstant(*array) ? constantOf((*array)[2]) : tensorOf(*array);
    json::Array items;
    for (const json::Value &item : *array)
      items.push_back(convertStructure(item, depth + 1));
    return items;
  }
  if (const json::Object *object = value.getAsObject()) {
    json::Object items;
    for (const auto &[key, item] : *object)
      items[key.str()] = convertStructure(item, depth + 1);
    return items;
  }
  return value;
}

/// All tensors of the first argument carry the same keywords.
const json::Object *findKeywords(const json::Value &value, unsigned depth = 0) {
  if (depth > kMaxDepth)
    return nullptr;
  if (const json::Array *array = value.getAsArray()) {
    if (isReference(*array))
      return array->size() > 3 ? (*array)[3].getAsObject() : nullptr;
    for (const json::Value &item : *array)
      if (const json::Object *keywords = findKeywords(item, depth + 1))
        return keywords;
  } else if (const json::Object *object = value.getAsObject()) {
    for (const auto &[key, item] : *object)
      if (const json::Object *keywords = findKeywords(item, depth + 1))
        return keywords;
  }
  return nullptr;
}

bool isRecurrence(llvm::StringRef className) {
  return llvm::is_contained({"Bidirectional", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D", "CuDNNGRU",
                             "CuDNNLSTM", "GRU", "LSTM", "RNN", "SimpleRNN"},
                            className);
}

/// Recurrences are called with one list: sequences, states, constants.
void splitRecurrence(const json::Object &config, json::Array &list, json::Object &keywords) {
  const int64_t last = std::clamp<int64_t>(config.getInteger("num_constants").value_or(0), 0,
                                           int64_t(list.size()) - 1);
  auto take = [&](size_t begin, size_t end, llvm::StringRef keyword) {
    json::Array tensors;
    for (size_t i = begin; i < end; ++i)
      tensors.push_back(list[i]);
    if (!tensors.empty())
      keywords[keyword.str()] = std::move(tensors);
  };
  take(1, list.size() - last, "initial_state");
  take(list.size() - last, list.size(), "constants");
}

json::Object convertNode(llvm::StringRef className, const json::Object &config,
                         const json::Value &node) {
  json::Object keywords;
  if (const json::Object *given = findKeywords(node))
    for (const auto &[key, value] : *given)
      keywords[key.str()] = convertStructure(value);
  json::Value argument = convertStructure(node);
  if (json::Array *list = argument.getAsArray()) {
    if (list->size() == 1) {
      json::Value only = std::move(list->front());
      argument = std::move(only);
    } else if (isRecurrence(className) && !list->empty()) {
      splitRecurrence(config, *list, keywords);
      json::Value sequences = std::move(list->front());
      argument = std::move(sequences);
    }
  }
  return json::Object{{"args", json::Array{std::move(argument)}}, {"kwargs", std::move(keywords)}};
}

bool isToday(const json::Value &node) {
  const json::Object *object = node.getAsObject();
  return object && object->getArray("args") && object->getObject("kwargs");
}

} // namespace

bool isModelClass(llvm::StringRef name) {
  return name == "Functional" || name == "Model" || name == "Sequential";
}

json::Array modernizeNodes(llvm::StringRef className, const json::Object &config,
                           const json::Array &nodes) {
  json::Array converted;
  for (const json::Value &node : nodes)
    converted.push_back(isToday(node) ? node : convertNode(className, config, node));
  return converted;
}

void renumberCalls(json::Object &config) {
  json::Array *layers = config.getArray("layers");
  if (!layers)
    return;
  llvm::StringMap<int64_t> highest; // the last call of each layer that something refers to
  auto note = [&](json::Array &reference) {
    int64_t &last = highest[*reference[0].getAsString()];
    last = std::max(last, *reference[1].getAsInteger());
  };
  auto visitNodes = [&](VisitFn visit) {
    for (json::Value &value : *layers)
      if (json::Object *layer = value.getAsObject())
        if (json::Value *nodes = layer->get("inbound_nodes"))
          visitReferences(*nodes, visit);
  };
  json::Value *outputs = config.get("output_layers");
  visitNodes(note);
  if (outputs)
    visitReferences(*outputs, note);

  llvm::StringMap<bool> shifted; // nested models; true for a Sequential one
  for (json::Value &value : *layers) {
    const json::Object *layer = value.getAsObject();
    const json::Array *nodes = layer ? layer->getArray("inbound_nodes") : nullptr;
    if (!nodes || nodes->empty() || llvm::any_of(*nodes, isToday) ||
        !isModelClass(layer->getString("class_name").value_or("")))
      continue;
    const llvm::StringRef name = layer->getString("name").value_or("");
    if (highest.lookup(name) == int64_t(nodes->size()))
      shifted[name] = layer->getString("class_name") == llvm::StringRef("Sequential");
  }
  visitNodes([&](json::Array &reference) {
    if (shifted.count(*reference[0].getAsString()))
      reference[1] = *reference[1].getAsInteger() - 1;
  });
  if (outputs)
    visitReferences(*outputs, [&](json::Array &reference) {
      if (shifted.lookup(*reference[0].getAsString()))
        reference[1] = *reference[1].getAsInteger() - 1;
    });
}

} // namespace mpc::keras
