// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layouts of keras/src/saving/saving_lib.py and keras/src/legacy/saving/legacy_h5_format.py.
#include "mpc/Export/Keras/KerasFile.h"

#include "mpc/Export/Keras/Hdf5Content.h"

#include "llvm/ADT/StringSwitch.h"

namespace mpc::keras {
namespace {

namespace json = llvm::json;

constexpr size_t kScalerVariables = 4;

llvm::Error missing(llvm::StringRef name) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 name + ": the value is missing; expected every variable of the "
                                        "model");
}

/// The optimizer's values; none when the state has none, an error when it has some.
llvm::Expected<std::vector<const StoredTensor *>> findOptimizer(const KerasLayout &layout,
                                                                const WeightFile &values) {
  std::vector<const StoredTensor *> found;
  std::string first;
  for (const std::string &name : layout.optimizer) {
    auto value = values.find(name);
    if (value != values.end())
      found.push_back(&value->second);
    else if (first.empty())
      first = name;
  }
  if (!found.empty() && found.size() != layout.optimizer.size())
    return missing(first);
  return found;
}

/// Keras cannot read the short names of losses back from a legacy file.
json::Value spellOut(const json::Value &loss) {
  if (const json::Array *array = loss.getAsArray()) {
    json::Array result;
    for (const json::Value &item : *array)
      result.push_back(spellOut(item));
    return result;
  }
  std::optional<llvm::StringRef> name = loss.getAsString();
  if (!name)
    return loss;
  return llvm::StringSwitch<llvm::StringRef>(name->lower())
      .Case("mse", "mean_squared_error")
      .Case("mae", "mean_absolute_error")
      .Case("mape", "mean_absolute_percentage_error")
      .Case("msle", "mean_squared_logarithmic_error")
      .Case("bce", "binary_crossentropy")
      .Case("kld", "kl_divergence")
      .Default(*name)
      .str();
}

std::string makeTrainingConfig(const json::Object &compile) {
  json::Object training;
  for (llvm::StringRef key : {"loss", "loss_weights", "metrics", "weighted_metrics"}) {
    const json::Value *value = compile.get(key);
    training[key] = value ? key == "loss" ? spellOut(*value) : *value : json::Value(nullptr);
  }
  training["optimizer_config"] = *compile.get("optimizer");
  return printPythonJson(json::Value(std::move(training)));
}

} // namespace

llvm::Expected<std::string> makeWeightsFile(const KerasLayout &layout, const WeightFile &values) {
  Hdf5Content content;
  for (const auto &[group, name] : layout.groups) {
    content.groups.push_back(group + "/vars");
    content.texts.push_back({group + "/vars", "name", name});
  }
  content.groups.push_back("vars");
  for (const auto &[dataset, name] : layout.datasets) {
    auto value = values.find(name);
    if (value == values.end())
      return missing(name);
    content.datasets.emplace_back(dataset, &value->second);
  }
  auto optimizer = findOptimizer(layout, values);
  if (!optimizer)
    return optimizer.takeError();
  for (size_t index = 0; index < optimizer->size(); ++index) {
    content.datasets.emplace_back("optimizer/vars/" + std::to_string(index), (*optimizer)[index]);
    // A LossScaleOptimizer stores the inner one's variables a second time, as the inner one's own.
    if (layout.scalesLoss && index >= kScalerVariables)
      content.datasets.emplace_back("optimizer/inner_optimizer/vars/" +
                                        std::to_string(index - kScalerVariables),
                                    (*optimizer)[index]);
  }
  return writeHdf5(content);
}

llvm::Expected<std::string> makeLegacyFile(const KerasLayout &layout, const WeightFile &values,
                                           const json::Object &config,
                                           llvm::StringRef kerasVersion) {
  Hdf5Content content;
  json::Object model;
  for (llvm::StringRef key : {"class_name", "config", "keras2_semantics"})
    if (const json::Value *value = config.get(key))
      model[key] = *value;
  content.texts.push_back({"", "keras_version", kerasVersion.str()});
  content.texts.push_back({"", "backend", "tensorflow"});
  content.texts.push_back({"", "model_config", printPythonJson(json::Value(std::move(model)))});
  const json::Object *compile = config.getObject("compile_config");
  if (compile && compile->get("optimizer"))
    content.texts.push_back({"", "training_config", makeTrainingConfig(*compile)});

  const std::string root = "model_weights";
  Hdf5Content::List names{root, "layer_names", {}};
  content.groups.push_back(root);
  content.texts.push_back({root, "keras_version", kerasVersion.str()});
  content.texts.push_back({root, "backend", "tensorflow"});
  auto addLayer = [&](const std::string &layer,
                      const std::vector<std::string> &variables) -> llvm::Error {
    const std::string group = root + "/" + layer;
    content.groups.push_back(group);
    for (const std::string &name : variables) {
      auto value = values.find(name);
      if (value == values.end())
        return missing(name);
      content.datasets.emplace_back(group + "/" + name, &value->second);
    }
    content.lists.push_back({group, "weight_names", variables});
    return llvm::Error::success();
  };
  for (const auto &[layer, variables] : layout.layers) {
    if (llvm::Error error = addLayer(layer, variables))
      return std::move(error);
    names.values.push_back(layer);
  }
  if (llvm::Error error = addLayer("top_level_model_weights", {}))
    return std::move(error);
  content.lists.push_back(std::move(names));

  auto optimizer = findOptimizer(layout, values);
  if (!optimizer)
    return optimizer.takeError();
  Hdf5Content::List slots{"optimizer_weights", "weight_names", {}};
  for (const auto &[name, value] : llvm::zip_equal(
           llvm::ArrayRef(layout.optimizer).take_front(optimizer->size()), *optimizer)) {
    llvm::StringRef path = name;
    path.consume_front("optimizer/");
    content.datasets.emplace_back(("optimizer_weights/" + path).str(), value);
    slots.values.push_back(path.str());
  }
  if (!slots.values.empty())
    content.lists.push_back(std::move(slots));
  return writeHdf5(content);
}

} // namespace mpc::keras
