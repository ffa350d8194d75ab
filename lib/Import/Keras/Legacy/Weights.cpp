// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weights of legacy .h5 files (keras/src/legacy/saving/legacy_h5_format.py): names in attributes
// give the order, datasets lie at the names.
#include "lib/Import/Keras/Dtype.h"
#include "lib/Import/Keras/Legacy/CudnnWeights.h"
#include "lib/Import/Keras/ModelWeights.h"

#include "mpc/Import/Keras/InputError.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace mpc::keras {
namespace {

/// A name that begins with '/' is a path from the root (Keras 2.0 wrote "/iterations").
std::string pathOf(llvm::StringRef group, llvm::StringRef name) {
  if (name.consume_front("/") || group.empty())
    return name.str();
  return (group + "/" + name).str();
}

void collectLayers(const LayerConfig &layer, llvm::SmallPtrSetImpl<const LayerConfig *> &all) {
  all.insert(&layer);
  if (layer.model)
    for (const LayerConfig &inner : layer.model->layers)
      collectLayers(inner, all);
}

/// The group of each layer that has variables: by name when all are there, else in order.
std::vector<std::string> matchGroups(llvm::ArrayRef<const LayerConfig *> layers,
                                     const std::vector<std::string> &filled) {
  std::vector<std::string> groups;
  for (const LayerConfig *layer : layers)
    if (llvm::is_contained(filled, layer->name))
      groups.push_back(layer->name);
  return groups.size() == layers.size() ? groups : filled;
}

} // namespace

/// Model.variables, the order of `variables`, lists a quantized kernel behind its layer's bias; the
/// file has it where the layer made it.
static void orderWithinLayers(llvm::MutableArrayRef<const ModelVariable *> variables) {
  auto placeInFile = [](const ModelVariable *variable) {
    return std::make_pair(variable->quantizer ? 1 : variable->group, variable->made);
  };
  for (auto *run = variables.begin(); run != variables.end();) {
    auto *end = std::find_if(run, variables.end(), [&](const ModelVariable *variable) {
      return variable->layer != (*run)->layer;
    });
    std::sort(run, end, [&](const ModelVariable *a, const ModelVariable *b) {
      return placeInFile(a) < placeInFile(b);
    });
    run = end;
  }
}

std::vector<const ModelVariable *> variablesOf(const LayerConfig &layer,
                                               const GraphImporter &importer) {
  llvm::SmallPtrSet<const LayerConfig *, 8> layers;
  collectLayers(layer, layers);
  std::vector<const ModelVariable *> result;
  // A frozen model or wrapper has no trainable variables, whatever those inside say.
  const bool isFrozen = !readFlag(layer.config.get("trainable")).value_or(true);
  for (const bool first : {true, false}) {
    const size_t begin = result.size();
    for (const ModelVariable &variable : importer.variables.getAll())
      // Variables that are quantized on import were trainable in the file.
      if (!variable.stateful && !variable.derived &&
          (isFrozen || variable.ownTrainable || variable.quantizer) == first &&
          llvm::any_of(importer.tree.getContainers(variable.layer),
                       [&](const LayerConfig *inner) { return layers.contains(inner); }))
        result.push_back(&variable);
    orderWithinLayers(llvm::MutableArrayRef(result).drop_front(begin));
  }
  return result;
}

/// Converts the variables of a layer that are kernel, recurrent kernel and bias of one recurrence.
static void convertRecurrences(Hdf5File &file, llvm::StringRef group,
                               llvm::ArrayRef<std::string> names,
                               llvm::ArrayRef<const ModelVariable *> variables) {
  for (size_t i = 0; i + 2 < variables.size(); ++i) {
    constexpr llvm::StringLiteral endings[] = {"/kernel", "/recurrent_kernel", "/bias"};
    StoredTensor *tensors[3];
    bool isRecurrence = true;
    for (size_t n = 0; n < 3; ++n) {
      const ModelVariable &variable = *variables[i + n];
      auto stored = file.datasets.find(pathOf(group, names[i + n]));
      isRecurrence &= stored != file.datasets.end() && !variable.quantizer &&
                      llvm::StringRef(variable.path).ends_with(endings[n]) &&
                      variable.layer == variables[i]->layer;
      tensors[n] = isRecurrence ? &stored->second : nullptr;
    }
    if (isRecurrence)
      convertCudnnWeights(*tensors[0], *tensors[1], *tensors[2], variables[i + 2]->type.getShape());
  }
}

llvm::Error takeLegacyWeights(Hdf5File &file, const ModelConfig &config, llvm::StringRef fileName,
                              const GraphImporter &importer, ImportedModel &model) {
  llvm::Error errors = llvm::Error::success();
  auto report = [&](llvm::StringRef place, const llvm::Twine &message) {
    errors = llvm::joinErrors(std::move(errors), inputError(fileName + ":" + place, message));
  };
  const std::string root = file.listAt("", "layer_names").empty() ? "model_weights" : "";
  std::vector<std::string> filled; // groups with weights
  for (const std::string &name : file.listAt(root, "layer_names"))
    if (!file.listAt(pathOf(root, name), "weight_names").empty())
      filled.push_back(name);
  llvm::SmallVector<const LayerConfig *> layers;
  for (const LayerConfig &layer : config.layers)
    if (!variablesOf(layer, importer).empty())
      layers.push_back(&layer);
  if (layers.size() != filled.size()) {
    report(root, "the file holds weights of " + llvm::Twine(filled.size()) +
                     " layers, the model has " + llvm::Twine(layers.size()) +
                     " layers with weights; the architecture and the weights are of different "
                     "models");
    return errors;
  }
  const std::vector<std::string> groups = matchGroups(layers, filled);
  for (const auto &[layer, name] : llvm::zip_equal(layers, groups)) {
    const std::string group = pathOf(root, name);
    const std::vector<std::string> names = file.listAt(group, "weight_names");
    const std::vector<const ModelVariable *> variables = variablesOf(*layer, importer);
    if (names.size() != variables.size()) {
      report(layer->name, "the layer has " + llvm::Twine(variables.size()) +
                              " variables, the file holds " + llvm::Twine(names.size()) +
                              "; the architecture and the weights are of different models");
      continue;
    }
    convertRecurrences(file, group, names, variables);
    for (const auto &[variable, weight] : llvm::zip_equal(variables, names)) {
      const std::string path = pathOf(group, weight);
      auto stored = file.datasets.find(path);
      if (stored == file.datasets.end())
        report(variable->path, "the weights are missing; expected the dataset " + path);
      else
        takeTensor(*variable, path, stored->second, report, model);
    }
  }

  // Keras 3 lists the optimizer's variables in its own order; older names go along.
  std::string version = file.textAt("", "keras_version");
  if (version.empty())
    version = file.textAt(root, "keras_version");
  const bool legacy = !llvm::StringRef(version).starts_with("3.");
  for (const std::string &name : file.listAt("optimizer_weights", "weight_names")) {
    auto stored = file.datasets.find(pathOf("optimizer_weights", name));
    if (stored == file.datasets.end()) {
      report("optimizer_weights", "the value of '" + name + "' is missing");
      continue;
    }
    model.optimizerVariables.push_back(std::move(stored->second));
    if (legacy)
      model.legacyOptimizerNames.push_back(name);
  }
  model.hasWeights = true;
  return errors;
}

} // namespace mpc::keras
