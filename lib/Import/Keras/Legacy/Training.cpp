// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// training_config of Keras 2 as a compile_config of Keras 3.
#include "lib/Import/Keras/Legacy/Config.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <map>

namespace mpc::keras {
namespace {

namespace json = llvm::json;

std::string camelCase(llvm::StringRef name) {
  llvm::SmallVector<llvm::StringRef> words;
  name.split(words, '_', -1, /*KeepEmpty=*/false);
  std::string result;
  for (llvm::StringRef word : words)
    result += (llvm::StringRef(word.take_front().upper()) + word.drop_front()).str();
  return result;
}

json::Value convertOptimizer(const json::Value &legacy);

/// A schedule is an object; a number stays one.
json::Value convertRate(const json::Value &rate) {
  const json::Object *object = rate.getAsObject();
  if (!object || object->get("module"))
    return rate;
  const json::Object *config = object->getObject("config");
  return serialized("keras.optimizers.schedules", object->getString("class_name").value_or(""),
                    config ? *config : json::Object());
}

json::Object convertScaler(const json::Object &legacy) {
  json::Object config{{"name", "loss_scale_optimizer"}};
  const json::Value *inner = legacy.get("inner_optimizer");
  if (!inner)
    inner = legacy.get("optimizer"); // TensorFlow 2.1 to 2.3
  if (inner)
    config["inner_optimizer"] = convertOptimizer(*inner);
  bool dynamic = legacy.getBoolean("dynamic").value_or(true);
  double initial = legacy.getNumber("initial_scale").value_or(32768.0);
  int64_t steps = legacy.getInteger("dynamic_growth_steps").value_or(2000);
  if (const json::Object *scale = legacy.getObject("loss_scale"))
    if (const json::Object *values = scale->getObject("config")) {
      dynamic = scale->getString("class_name") != llvm::StringRef("FixedLossScale");
      initial =
          values->getNumber(dynamic ? "initial_loss_scale" : "loss_scale_value").value_or(initial);
      steps = values->getInteger("increment_period").value_or(steps);
    }
  if (!dynamic)
    config["dynamic"] = false;
  config["initial_scale"] = initial;
  config["dynamic_growth_steps"] = steps;
  return config;
}

json::Value convertOptimizer(const json::Value &legacy) {
  const json::Object *object = legacy.getAsObject();
  if (!object)
    return legacy;
  llvm::StringRef className = object->getString("class_name").value_or("");
  // tf_keras registers its own optimizers as if they were the user's.
  className.consume_front("Custom>");
  const json::Object empty, *config = object->getObject("config");
  if (!config)
    config = &empty;
  if (className.starts_with("LossScaleOptimizer"))
    return serialized("keras.optimizers", "LossScaleOptimizer", convertScaler(*config));
  json::Object today;
  for (const auto &[name, value] : *config) {
    const llvm::StringRef key = name; // json::Object keeps no copy of a StringRef key
    if (key == "schedule_decay") {
      today["decay"] = value; // what Nadam of OptimizerV2 calls it
    } else if (key == "lr" || key == "learning_rate") {
      today["learning_rate"] = convertRate(value);
    } else if (key == "epsilon" && value.kind() == json::Value::Null) {
      today["epsilon"] = 1e-7;
    } else if (key != "is_legacy_optimizer" && key != "jit_compile") {
      today[key.str()] = value;
    }
  }
  return serialized("keras.optimizers", className, std::move(today));
}

/// The config inside a LossScaleOptimizer's.
const json::Object *findInnermost(const json::Value *optimizer) {
  const json::Object *object = optimizer ? optimizer->getAsObject() : nullptr;
  for (int depth = 0; object && depth < 4; ++depth) {
    const json::Object *config = object->getObject("config");
    const json::Object *inner = config ? config->getObject("inner_optimizer") : nullptr;
    if (!inner && config)
      inner = config->getObject("optimizer"); // TensorFlow 2.1 to 2.3
    if (!inner)
      return object;
    object = inner;
  }
  return object;
}

/// The name of a serialised function.
std::optional<llvm::StringRef> functionOf(const json::Value *value) {
  if (!value)
    return std::nullopt;
  if (std::optional<llvm::StringRef> name = value->getAsString())
    return name;
  const json::Object *object = value->getAsObject();
  return object ? object->getString("config") : std::nullopt;
}

/// Whether compile(metrics=["accuracy"]) made this wrapper. Before the first step Keras has chosen
/// the function without having seen a target, so that the name says more than the function. Of
/// several outputs the name has the output's in front: "head_accuracy". The name that was given,
/// else nothing.
std::optional<llvm::StringRef> findChosenByShapes(llvm::StringRef name, llvm::StringRef function) {
  if (name.ends_with(function))
    return std::nullopt; // the function itself was given
  name = name.substr(name.rfind('_') + 1);
  llvm::StringRef kind = name == "acc" ? "accuracy" : name == "ce" ? "crossentropy" : name;
  if ((kind == "accuracy" || kind == "crossentropy") && function.consume_back("_" + kind.str()) &&
      llvm::is_contained({"binary", "categorical", "sparse_categorical"}, function))
    return name;
  return std::nullopt;
}

/// Losses and metrics: names, objects, and lists or dictionaries of them.
json::Value convertObjects(const json::Value &legacy, llvm::StringRef module) {
  if (const json::Array *array = legacy.getAsArray()) {
    json::Array converted;
    for (const json::Value &item : *array)
      converted.push_back(convertObjects(item, module));
    return converted;
  }
  const json::Object *object = legacy.getAsObject();
  if (!object)
    return legacy;
  const std::optional<llvm::StringRef> className = object->getString("class_name");
  if (!className) {
    json::Object converted;
    for (const auto &[key, value] : *object)
      converted[key.str()] = convertObjects(value, module);
    return converted;
  }
  json::Object config;
  if (const json::Object *given = object->getObject("config"))
    config = *given;
  if (config.getString("reduction") == llvm::StringRef("auto"))
    config["reduction"] = "sum_over_batch_size";
  // compile(metrics=["accuracy"]) was saved as a wrapper around the function that it chose.
  std::string name = className->str();
  if (llvm::StringRef(name).ends_with("Wrapper")) {
    if (std::optional<llvm::StringRef> function = functionOf(config.get("fn"))) {
      if (std::optional<llvm::StringRef> given =
              findChosenByShapes(config.getString("name").value_or(""), *function))
        return given->str();
      name = camelCase(*function);
      config.erase("fn");
    }
  } else if (functionOf(config.get("fn"))) {
    config.erase("fn"); // of a class that has one of its own
  }
  if (object->getString("class_name") == llvm::StringRef("function"))
    return legacy;
  return serialized(module, name, std::move(config));
}

/// [[m]] of one output is [m].
json::Value flattenSingle(json::Value metrics) {
  json::Array *outer = metrics.getAsArray();
  if (outer && outer->size() == 1 && outer->front().getAsArray()) {
    json::Value inner = std::move(outer->front());
    return inner;
  }
  return metrics;
}

} // namespace

TrainingRules findTrainingRules(KerasVersion version, const json::Value *optimizer) {
  TrainingRules rules;
  if (!version.isKeras2())
    return rules;
  const json::Object *object = findInnermost(optimizer);
  const json::Object *config = object ? object->getObject("config") : nullptr;
  auto has = [&](llvm::StringRef key) { return config && config->get(key); };
  if (has("is_legacy_optimizer") || (!version.isBefore(2, 11) && !has("decay") && !has("lr")))
    rules.optimizers = config && config->getBoolean("is_legacy_optimizer").value_or(false)
                           ? OptimizerFamily::OptimizerV2
                           : OptimizerFamily::Keras2;
  else if (has("lr") || (version.isBefore(2, 4) && !version.ofTensorFlow))
    rules.optimizers = OptimizerFamily::BeforeTensorFlow2;
  else
    rules.optimizers = OptimizerFamily::OptimizerV2;
  rules.leastNorm = 1e-6; // tf.math.l2_normalize bounds the sum of squares
  rules.isBefore23 = version.isBefore(2, 3) && !version.ofTensorFlow;
  rules.accuracyFollowsLoss = version.isBefore(2, version.ofTensorFlow ? 3 : 4);
  if (!version.isBefore(2, version.ofTensorFlow ? 2 : 3))
    rules.besideProbability = 1e-7;
  rules.masksStayInMeans =
      version.isBefore(2, 10) && !version.isBefore(2, version.ofTensorFlow ? 2 : 3);
  return rules;
}

/// The layers of output_layers, in the order in which TensorFlow flattens structures.
static void collectLayers(const json::Value &structure, std::vector<llvm::StringRef> &layers) {
  if (const json::Array *list = structure.getAsArray()) {
    if (std::optional<llvm::StringRef> layer =
            list->empty() ? std::nullopt : list->front().getAsString())
      return layers.push_back(*layer);
    for (const json::Value &element : *list)
      collectLayers(element, layers);
  } else if (const json::Object *dictionary = structure.getAsObject()) {
    std::map<llvm::StringRef, const json::Value *> sorted;
    for (const auto &[key, element] : *dictionary)
      sorted.emplace(key, &element);
    for (const auto &[key, element] : sorted)
      collectLayers(*element, layers);
  }
}

std::vector<std::string> namesOfOutputs(const json::Object &model) {
  const json::Object *config = model.getObject("config");
  std::vector<llvm::StringRef> layers;
  if (const json::Value *outputs = config ? config->get("output_layers") : nullptr)
    collectLayers(*outputs, layers);
  std::vector<std::string> names;
  if (layers.size() < 2)
    return names;
  std::map<llvm::StringRef, unsigned> counts;
  for (llvm::StringRef layer : layers) {
    std::string name = layer.str();
    while (llvm::is_contained(names, name))
      name = (layer + "_" + llvm::Twine(++counts[layer])).str();
    names.push_back(std::move(name));
  }
  return names;
}

void takeOutputNamesOff(json::Object &compileConfig, llvm::ArrayRef<std::string> outputs) {
  for (llvm::StringRef key : {"metrics", "weighted_metrics"}) {
    json::Array *lists = compileConfig.getArray(key);
    if (!lists || lists->size() != outputs.size())
      continue;
    for (auto [list, output] : llvm::zip_equal(*lists, outputs)) {
      json::Array *metrics = list.getAsArray();
      if (!metrics)
        continue;
      for (json::Value &metric : *metrics) {
        json::Object *object = metric.getAsObject(),
                     *config = object ? object->getObject("config") : nullptr;
        llvm::StringRef name = config ? config->getString("name").value_or("") : "";
        if (name.consume_front(output) && name.consume_front("_") && !name.empty())
          (*config)["name"] = name.str();
      }
    }
  }
}

static void spellOut(json::Value &metrics) {
  if (json::Array *list = metrics.getAsArray()) {
    for (json::Value &element : *list)
      spellOut(element);
  } else if (json::Object *dictionary = metrics.getAsObject()) {
    if (!dictionary->get("class_name"))
      for (auto &[key, element] : *dictionary)
        spellOut(element);
  } else if (std::optional<llvm::StringRef> name = metrics.getAsString()) {
    const std::string lower = name->lower(),
                      full = llvm::StringSwitch<std::string>(lower)
                                 .Case("mse", "mean_squared_error")
                                 .Case("mae", "mean_absolute_error")
                                 .Case("mape", "mean_absolute_percentage_error")
                                 .Case("msle", "mean_squared_logarithmic_error")
                                 .Case("kld", "kullback_leibler_divergence")
                                 .Case("cosine", "cosine_proximity")
                                 .Case("accuracy", "acc")
                                 .Case("crossentropy", "ce")
                                 .Default("");
    if (!full.empty())
      metrics = full;
  }
}

void spellMetricsOut(json::Object &compileConfig) {
  for (llvm::StringRef key : {"metrics", "weighted_metrics"})
    if (json::Value *metrics = compileConfig.get(key))
      spellOut(*metrics);
}

json::Object modernizeCompileConfig(const json::Object &legacy) {
  json::Object config = legacy;
  if (const json::Value *optimizer = legacy.get("optimizer"))
    config["optimizer"] = convertOptimizer(*optimizer);
  if (const json::Value *loss = legacy.get("loss"))
    config["loss"] = convertObjects(*loss, "keras.losses");
  for (llvm::StringRef key : {"metrics", "weighted_metrics"})
    if (const json::Value *metrics = legacy.get(key))
      config[key.str()] = convertObjects(*metrics, "keras.metrics");
  return config;
}

json::Object modernizeTraining(const json::Object &legacy,
                               const std::optional<LegacyLossScale> &scale) {
  json::Object config;
  auto take = [&](llvm::StringRef key) {
    const json::Value *value = legacy.get(key);
    return value ? *value : json::Value(nullptr);
  };
  json::Value optimizer = convertOptimizer(take("optimizer_config"));
  const json::Object *object = optimizer.getAsObject();
  const bool scales =
      object && object->getString("class_name") == llvm::StringRef("LossScaleOptimizer");
  if (scale && object && !scales) {
    json::Object scaler{{"name", "loss_scale_optimizer"},
                        {"initial_scale", scale->initial},
                        {"dynamic_growth_steps", scale->growthSteps}};
    if (!scale->dynamic)
      scaler["dynamic"] = false;
    scaler["inner_optimizer"] = std::move(optimizer);
    optimizer = serialized("keras.optimizers", "LossScaleOptimizer", std::move(scaler));
  }
  config["optimizer"] = std::move(optimizer);
  config["loss"] = convertObjects(take("loss"), "keras.losses");
  config["loss_weights"] = take("loss_weights");
  config["metrics"] = flattenSingle(convertObjects(take("metrics"), "keras.metrics"));
  config["weighted_metrics"] =
      flattenSingle(convertObjects(take("weighted_metrics"), "keras.metrics"));
  return config;
}

} // namespace mpc::keras
