// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layers inside layers: read from the config of what holds them, or made for it; their places in
// the order of variables and in the weight file.
#include "GraphImporter.h"

namespace mpc::keras {

const LayerConfig *GraphImporter::getChild(const LayerConfig &layer, llvm::StringRef path,
                                           llvm::StringRef key, std::optional<unsigned> index,
                                           llvm::function_ref<void(LayerConfig &)> adjust) {
  std::unique_ptr<LayerConfig> &child =
      children[{&layer, key.str() + (index ? "/" + std::to_string(*index) : "")}];
  if (child)
    return child.get();
  const llvm::json::Value *value = layer.config.get(key);
  if (index) {
    const llvm::json::Array *array = value ? value->getAsArray() : nullptr;
    value = array && *index < array->size() ? &(*array)[*index] : nullptr;
  }
  if (!value) {
    report(path, "the config of " + layer.className + " holds no layer in '" + key + "'");
    return nullptr;
  }
  llvm::Expected<LayerConfig> parsed = parseLayerConfig(*value, fileName, path);
  if (!parsed) {
    failed = true;
    errors = llvm::joinErrors(std::move(errors), parsed.takeError());
    return nullptr;
  }
  child = std::make_unique<LayerConfig>(std::move(*parsed));
  if (adjust)
    adjust(*child);
  return child.get();
}

llvm::SmallVector<const LayerConfig *, 4>
GraphImporter::getContainers(const LayerConfig *layer) const {
  llvm::SmallVector<const LayerConfig *, 4> containers;
  for (; layer; layer = parents.lookup(layer))
    containers.push_back(layer);
  return containers;
}

void GraphImporter::placeLayers(const ModelConfig &model, const LayerConfig &holder,
                                unsigned position) {
  for (const LayerConfig &layer : model.layers) {
    order[&layer] = position;
    parents[&layer] = &holder;
    if (layer.model)
      placeLayers(*layer.model, holder, position);
  }
}

void GraphImporter::placeChild(const LayerConfig &parent, const LayerConfig &child,
                               llvm::StringRef group) {
  order[&child] = order.lookup(&parent);
  if (&parent != &child)
    parents[&child] = &parent;
  auto found = groups.find(&parent);
  if (&parent != &child && found != groups.end() && !group.empty()) {
    const std::string place = found->second + "/" + group.str();
    groups[&child] = place;
    if (child.model && !child.model->layers.empty() && !order.count(&child.model->layers.front())) {
      index(*child.model, "", place);
      placeLayers(*child.model, child, order.lookup(&parent));
    }
  }
}

void GraphImporter::placeTwin(const LayerConfig &layer, const LayerConfig &twin) {
  order[&twin] = order.lookup(&layer);
  parents[&twin] = &layer;
  if (auto found = groups.find(&layer); found != groups.end()) {
    const std::string place = found->second;
    groups[&twin] = place;
  }
}

const LayerConfig &GraphImporter::getPart(const LayerConfig &parent, llvm::StringRef name,
                                          llvm::function_ref<LayerConfig()> make) {
  std::unique_ptr<LayerConfig> &part = children[{&parent, name.str()}];
  if (!part)
    part = std::make_unique<LayerConfig>(make());
  return *part;
}

} // namespace mpc::keras
