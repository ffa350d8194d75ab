// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/Legacy/Version.h"

#include "llvm/ADT/STLExtras.h"

namespace mpc::keras {

namespace json = llvm::json;

std::optional<KerasVersion> parseVersion(llvm::StringRef text) {
  KerasVersion version;
  auto [number, suffix] = text.split('-');
  auto [first, rest] = number.split('.');
  if (first.getAsInteger(10, version.major) ||
      rest.split('.').first.getAsInteger(10, version.minor))
    return std::nullopt;
  // Since 2.4 there is TensorFlow's alone.
  version.ofTensorFlow = suffix.starts_with("tf") || !version.isBefore(2, 4);
  return version;
}

static bool looksLikeKeras2(const json::Value &layer, unsigned depth) {
  const json::Object *object = layer.getAsObject();
  const json::Value *value = object ? object->get("config") : nullptr;
  const json::Object *config = value ? value->getAsObject() : nullptr;
  if (config && config->get("batch_input_shape"))
    return true;
  const json::Array *nodes = object ? object->getArray("inbound_nodes") : nullptr;
  if (nodes && llvm::any_of(*nodes, [](const json::Value &node) { return node.getAsArray(); }))
    return true;
  // Before Keras 2.2.3 the config of a Sequential model is the list of its layers.
  const json::Array *layers = value ? value->getAsArray() : nullptr;
  if (config)
    layers = config->getArray("layers");
  return layers && depth < 64 &&
         llvm::any_of(
             *layers, [&](const json::Value &inner) { return looksLikeKeras2(inner, depth + 1); });
}

bool looksLikeKeras2(const json::Object &model) {
  return looksLikeKeras2(json::Value(json::Object(model)), 0);
}

} // namespace mpc::keras
