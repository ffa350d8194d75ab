// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/Legacy/TensorFlowNodes.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>

namespace mpc::keras {
namespace {

namespace json = llvm::json;

constexpr llvm::StringLiteral kConstantMark("_CONSTANT_VALUE");
constexpr unsigned kMostNesting = 64;

std::optional<uint64_t> asNodeIndex(const json::Value &value) {
  std::optional<int64_t> number = value.getAsInteger();
  if (!number || *number < 0 || *number > std::numeric_limits<int32_t>::max())
    return std::nullopt;
  return uint64_t(*number);
}

std::optional<Argument> asRecordedTensor(const json::Array &array) {
  if (array.size() < 3 || array.size() > 4)
    return std::nullopt;
  std::optional<llvm::StringRef> layer = array[0].getAsString();
  std::optional<uint64_t> node = asNodeIndex(array[1]), tensor = asNodeIndex(array[2]);
  if (!layer || !node || !tensor)
    return std::nullopt;
  Argument argument;
  argument.kind = Argument::Kind::Tensor;
  argument.tensor = TensorRef{layer->str(), *node, *tensor, ""};
  return argument;
}

bool isRecordedConstant(const json::Array &array) {
  return array.size() >= 3 && array[0].getAsString() == llvm::StringRef(kConstantMark);
}

/// A keyword, or something inside one. A slice is a dictionary of its bounds, "..." an object.
Argument parseKeyword(const json::Value &value, unsigned depth) {
  Argument argument;
  argument.constant = value;
  const json::Array *array = value.getAsArray();
  const json::Object *object = value.getAsObject();
  if (depth > kMostNesting || (!array && (!object || object->get("class_name"))))
    return argument;
  if (object) { // a slice, whose bounds may be tensors
    argument.kind = Argument::Kind::Dict;
    for (const auto &[key, bound] : *object)
      argument.keys.push_back(key.str());
    llvm::sort(argument.keys);
    for (const std::string &key : argument.keys)
      argument.items.push_back(parseKeyword(*object->get(key), depth + 1));
    argument.constant = nullptr;
    return argument;
  }
  if (std::optional<Argument> tensor = asRecordedTensor(*array))
    return *tensor;
  argument.constant = nullptr;
  argument.kind = Argument::Kind::List;
  for (const json::Value &item : *array)
    argument.items.push_back(parseKeyword(item, depth + 1));
  return argument;
}

/// The first argument, or a part of it, and the keywords of the first tensor or constant in it.
std::optional<Argument> parseFirst(const json::Value &value, const json::Object *&keywords,
                                   unsigned depth) {
  const json::Array *array = value.getAsArray();
  if (!array || depth > kMostNesting)
    return std::nullopt;
  std::optional<Argument> argument = asRecordedTensor(*array);
  if (!argument && isRecordedConstant(*array))
    argument = parseKeyword((*array)[2], depth + 1);
  if (argument) {
    if (!keywords && array->size() > 3)
      keywords = (*array)[3].getAsObject();
    return argument;
  }
  argument.emplace();
  argument->kind = Argument::Kind::List;
  for (const json::Value &item : *array) {
    std::optional<Argument> part = parseFirst(item, keywords, depth + 1);
    if (!part)
      return std::nullopt;
    argument->items.push_back(std::move(*part));
  }
  return argument;
}

} // namespace

bool isTensorFlowClass(llvm::StringRef className) {
  return className == "TFOpLambda" || className == "SlicingOpLambda" ||
         className == "TensorFlowOpLayer";
}

std::optional<Node> parseTensorFlowNode(const json::Value &entry) {
  const json::Object *keywords = nullptr;
  std::optional<Argument> first = parseFirst(entry, keywords, 0);
  if (!first)
    return std::nullopt;
  Node node;
  node.arguments.push_back(std::move(*first));
  if (!keywords)
    return node;
  llvm::SmallVector<llvm::StringRef> names;
  for (const auto &[name, value] : *keywords)
    names.push_back(name);
  llvm::sort(names); // results must not depend on hashing
  for (llvm::StringRef name : names)
    node.keywords.emplace_back(name.str(), parseKeyword(*keywords->get(name), 0));
  return node;
}

} // namespace mpc::keras
