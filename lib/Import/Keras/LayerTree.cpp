// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/LayerTree.h"

#include "lib/Import/Keras/Dtype.h"
#include "lib/Import/Keras/LayerRegistry.h"
#include "lib/Import/Keras/Operations/OperationBuilder.h"
#include "mpc/Import/Keras/Weights.h"

namespace mpc::keras {

/// Layer.trainable_variables of keras/src/layers/layer.py returns nothing where the object that is
/// asked, the model, is frozen, and else each variable that says so itself. Objects between the two
/// are not asked: the setter of `trainable` passes the flag down when it is set, so that a later
/// one inside counts ("freeze the base, unfreeze its last layers"), in memory and in the file,
/// where each layer has its own. BatchNormalization.call asks its own as well.
bool isTrainable(const LayerConfig &layer, bool holder) {
  return layer.isPart ? holder : readFlag(layer.config.get("trainable")).value_or(true);
}

/// Keras names a layer's group after its class, counted within its container
/// (keras/src/saving/saving_lib.py, _save_container_state).
void LayerTree::index(const ModelConfig &model, llvm::StringRef path, llvm::StringRef group) {
  llvm::StringMap<unsigned> used;
  for (const auto &[position, layer] : llvm::enumerate(model.layers)) {
    order[&layer] = {unsigned(order.size())};
    if (layer.sharedObject)
      sharedLayers.try_emplace(*layer.sharedObject, PlacedLayer{&layer, join(path, layer.name)});
    const bool omitted = model.kind == ModelConfig::Kind::Sequential && position == 0 &&
                         layer.className == "InputLayer";
    if (omitted || isOperation(layer))
      continue;
    const LayerEntry *entry = findLayer(layer);
    std::string name =
        snakeCase(entry && !entry->pythonName.empty() ? llvm::StringRef(entry->pythonName)
                                                      : llvm::StringRef(layer.className));
    const unsigned count = used[name]++;
    if (count)
      name += "_" + std::to_string(count);
    groups[&layer] = join(group, "layers/" + name);
    if (layer.model)
      index(*layer.model, join(path, layer.name), groups[&layer]);
  }
}

const LayerConfig *LayerTree::getChild(const LayerConfig &layer, llvm::StringRef path,
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
    report.error(path, "the config of " + layer.className + " holds no layer in '" + key + "'");
    return nullptr;
  }
  llvm::Expected<LayerConfig> parsed =
      parseLayerConfig(*value, report.getFileName(), path, layer.version);
  if (!parsed) {
    report.error(parsed.takeError());
    return nullptr;
  }
  child = std::make_unique<LayerConfig>(std::move(*parsed));
  if (adjust)
    adjust(*child);
  return child.get();
}

llvm::SmallVector<const LayerConfig *, 4> LayerTree::getContainers(const LayerConfig *layer) const {
  llvm::SmallVector<const LayerConfig *, 4> containers;
  for (; layer; layer = parents.lookup(layer))
    containers.push_back(layer);
  return containers;
}

void LayerTree::placeLayers(const ModelConfig &model, const LayerConfig &holder,
                            const Place &position) {
  for (const auto &[number, layer] : llvm::enumerate(model.layers)) {
    Place place = position;
    place.push_back(unsigned(number) + 1);
    order[&layer] = place;
    parents[&layer] = &holder;
    if (layer.model)
      placeLayers(*layer.model, holder, place);
  }
}

void LayerTree::placeChild(const LayerConfig &parent, const LayerConfig &child,
                           llvm::StringRef group, unsigned position) {
  Place place = order.lookup(&parent);
  if (position)
    place.push_back(position);
  order[&child] = place;
  if (&parent != &child)
    parents[&child] = &parent;
  auto found = groups.find(&parent);
  if (&parent != &child && found != groups.end() && !group.empty()) {
    const std::string below = found->second + "/" + group.str();
    groups[&child] = below;
    if (child.model && !child.model->layers.empty() && !order.count(&child.model->layers.front())) {
      index(*child.model, "", below);
      placeLayers(*child.model, child, place);
    }
  }
}

void LayerTree::placeTwin(const LayerConfig &layer, const LayerConfig &twin) {
  const Place position = order.lookup(&layer);
  order[&twin] = position;
  parents[&twin] = &layer;
  if (auto found = groups.find(&layer); found != groups.end()) {
    const std::string place = found->second;
    groups[&twin] = place;
  }
}

const PlacedLayer *LayerTree::findShared(const LayerConfig &child) const {
  auto found = child.sharedObject ? sharedLayers.find(*child.sharedObject) : sharedLayers.end();
  return found == sharedLayers.end() || found->second.layer->className != child.className
             ? nullptr
             : &found->second;
}

const LayerConfig &LayerTree::getPart(const LayerConfig &parent, llvm::StringRef name,
                                      llvm::function_ref<LayerConfig()> make) {
  std::unique_ptr<LayerConfig> &part = children[{&parent, name.str()}];
  if (!part) {
    part = std::make_unique<LayerConfig>(make());
    part->isPart = true;
    part->version = parent.version;
  }
  return *part;
}

const std::string *LayerTree::findGroup(const LayerConfig &layer) const {
  auto found = groups.find(&layer);
  return found == groups.end() ? nullptr : &found->second;
}

const std::string *LayerTree::findVocabulary(const LayerConfig &layer) const {
  const std::string *group = findGroup(layer);
  if (!group)
    return nullptr;
  auto found = vocabularies.find("assets/" + *group + "/vocabulary.txt");
  return found == vocabularies.end() ? nullptr : &found->second;
}

} // namespace mpc::keras
