// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layers inside layers: read from the config of what holds them, or made for it; their places in
// the order of variables and in the weight file; calls of them step by step.
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

bool GraphImporter::importStepwise(const LayerConfig &layer, llvm::StringRef path, bool trainable,
                                   Value sequence, Values &outputs) {
  const size_t terms = lossTerms.size();
  const Values before =
      llvm::map_to_vector(variables, [](const ModelVariable &v) { return v.getCurrent(); });
  ScanBuilder scan(builder, mlir::NameLoc::get(builder.getStringAttr(path)), {}, {sequence},
                   tensorTypeOf(sequence).getDimSize(1), /*reverse=*/false);
  Values results;
  if (!importCall(layer, nullptr, path, trainable, {scan.getSlices().front()}, results)) {
    scan.abandon();
    return false;
  }
  // Loss terms of a step, as results of one element; each counts as often as there are steps.
  const size_t outputCount = results.size();
  mlir::Location loc = mlir::NameLoc::get(builder.getStringAttr(path));
  while (lossTerms.size() > terms) {
    Value term = lossTerms.pop_back_val();
    auto type = mlir::RankedTensorType::get({1}, elementTypeOf(term));
    results.push_back(ReshapeOp::create(builder, loc, type, term));
  }
  // Variables that a step renews are carried; random layers take other numbers in every step.
  llvm::SmallVector<ModelVariable *> renewed;
  for (auto [number, variable] : llvm::enumerate(variables)) {
    Value old = number < before.size() ? before[number] : Value(variable.argument);
    if (variable.getCurrent() == old)
      continue;
    scan.carry(old, variable.getCurrent(), /*inTraining=*/!variable.stateful);
    renewed.push_back(&variable);
  }
  scan.varyRandomness(randomState);
  ScanOp op = scan.finish({}, results);
  for (auto [variable, last] : llvm::zip(renewed, op.getFinals()))
    variable->updates.push_back(last);
  llvm::append_range(outputs, op.getStacked().take_front(outputCount));
  for (Value stacked : op.getStacked().drop_front(outputCount))
    lossTerms.push_back(ReduceOp::create(builder, loc, ReduceKind::Sum, stacked,
                                         llvm::ArrayRef<int64_t>{0, 1}, /*keep_dims=*/false));
  return true;
}

} // namespace mpc::keras
