// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layers inside layers: read from the config of what holds them, or made for it; their places in
// the order of variables and in the weight file; calls of them step by step.
#include "Dtype.h"
#include "GraphImporter.h"
#include "ScanBuilder.h"

namespace mpc::keras {

using mlir::Value;

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
  llvm::Expected<LayerConfig> parsed = parseLayerConfig(*value, fileName, path, layer.version);
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

void GraphImporter::placeChild(const LayerConfig &parent, const LayerConfig &child,
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

void GraphImporter::placeTwin(const LayerConfig &layer, const LayerConfig &twin) {
  const Place position = order.lookup(&layer);
  order[&twin] = position;
  parents[&twin] = &layer;
  if (auto found = groups.find(&layer); found != groups.end()) {
    const std::string place = found->second;
    groups[&twin] = place;
  }
}

const GraphImporter::PlacedLayer *GraphImporter::findShared(const LayerConfig &child) const {
  auto found = child.sharedObject ? sharedLayers.find(*child.sharedObject) : sharedLayers.end();
  return found == sharedLayers.end() || found->second.layer->className != child.className
             ? nullptr
             : &found->second;
}

const LayerConfig &GraphImporter::getPart(const LayerConfig &parent, llvm::StringRef name,
                                          llvm::function_ref<LayerConfig()> make) {
  std::unique_ptr<LayerConfig> &part = children[{&parent, name.str()}];
  if (!part) {
    part = std::make_unique<LayerConfig>(make());
    part->isPart = true;
    part->version = parent.version;
  }
  return *part;
}

/// Layer.trainable_variables of keras/src/layers/layer.py returns nothing where the object that is
/// asked, the model, is frozen, and else each variable that says so itself. Objects between the two
/// are not asked: the setter of `trainable` passes the flag down when it is set, so that a later
/// one inside counts ("freeze the base, unfreeze its last layers"), in memory and in the file,
/// where each layer has its own. BatchNormalization.call asks its own as well.
bool GraphImporter::isTrainable(const LayerConfig &layer, bool holder) {
  return layer.isPart ? holder : readFlag(layer.config.get("trainable")).value_or(true);
}

ScanOp GraphImporter::importScan(
    llvm::StringRef path, llvm::ArrayRef<Value> inits, llvm::ArrayRef<Value> scanned, bool reverse,
    bool isRandom,
    llvm::function_ref<bool(ScanBuilder &scan, Values &next, Values &stacked)> step) {
  const size_t terms = lossTerms.size(), metrics = addedMetrics.size();
  const Values before =
      llvm::map_to_vector(variables, [](const ModelVariable &v) { return v.getCurrent(); });
  mlir::Location loc = mlir::NameLoc::get(builder.getStringAttr(path));
  ScanBuilder scan(builder, loc, inits, scanned, tensorTypeOf(scanned.front()).getDimSize(1),
                   reverse);
  Values next, stacked;
  if (!step(scan, next, stacked)) {
    scan.abandon();
    return {};
  }
  while (addedMetrics.size() > metrics) {
    warn(addedMetrics.back().path + ": the metric '" + addedMetrics.back().name +
         "' of each step is left out: training and evaluation do not show it");
    addedMetrics.pop_back();
  }
  // Loss terms of a step, as results of one element; each counts as often as there are steps.
  const size_t outputCount = stacked.size();
  while (lossTerms.size() > terms) {
    Value term = lossTerms.pop_back_val();
    auto type = mlir::RankedTensorType::get({1}, elementTypeOf(term));
    stacked.push_back(ReshapeOp::create(builder, loc, type, term));
  }
  // Variables that a step renews are carried.
  llvm::SmallVector<ModelVariable *> renewed;
  for (auto [number, variable] : llvm::enumerate(variables)) {
    Value old = number < before.size() ? before[number] : Value(variable.argument);
    if (variable.getCurrent() == old)
      continue;
    scan.carry(old, variable.getCurrent(), /*inTraining=*/!variable.stateful);
    renewed.push_back(&variable);
  }
  if (isRandom)
    scan.varyRandomness(randomState);
  ScanOp op = scan.finish(next, stacked);
  for (auto [variable, last] : llvm::zip(renewed, op.getFinals().drop_front(next.size())))
    variable->updates.push_back(last);
  for (Value term : op.getStacked().drop_front(outputCount))
    lossTerms.push_back(ReduceOp::create(builder, loc, ReduceKind::Sum, term,
                                         llvm::ArrayRef<int64_t>{0, 1}, /*keep_dims=*/false));
  return op;
}

bool GraphImporter::importStepwise(const LayerConfig &layer, llvm::StringRef path, bool trainable,
                                   Value sequence, Values &outputs) {
  size_t count = 0;
  ScanOp op = importScan(path, {}, {sequence}, /*reverse=*/false, /*isRandom=*/true,
                         [&](ScanBuilder &scan, Values &, Values &stacked) {
                           const bool good = importCall(layer, nullptr, path, trainable,
                                                        {scan.getSlices().front()}, stacked);
                           count = stacked.size();
                           return good;
                         });
  if (op)
    llvm::append_range(outputs, op.getStacked().take_front(count));
  return bool(op);
}

} // namespace mpc::keras
