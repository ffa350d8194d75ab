// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// training_config of Keras 2 as a compile_config of Keras 3.
#include "Config.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

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

json::Value convertOptimizer(const json::Value &legacy, std::vector<std::string> &warnings);

/// A schedule is an object; a number stays one.
json::Value convertRate(const json::Value &rate) {
  const json::Object *object = rate.getAsObject();
  if (!object || object->get("module"))
    return rate;
  const json::Object *config = object->getObject("config");
  return serialized("keras.optimizers.schedules", object->getString("class_name").value_or(""),
                    config ? *config : json::Object());
}

json::Object convertScaler(const json::Object &legacy, std::vector<std::string> &warnings) {
  json::Object config{{"name", "loss_scale_optimizer"}};
  const json::Value *inner = legacy.get("inner_optimizer");
  if (!inner)
    inner = legacy.get("optimizer"); // TensorFlow 2.1 to 2.3
  if (inner)
    config["inner_optimizer"] = convertOptimizer(*inner, warnings);
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

json::Value convertOptimizer(const json::Value &legacy, std::vector<std::string> &warnings) {
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
    return serialized("keras.optimizers", "LossScaleOptimizer", convertScaler(*config, warnings));
  json::Object today;
  for (const auto &[name, value] : *config) {
    const llvm::StringRef key = name; // json::Object keeps no copy of a StringRef key
    if (key == "decay" || key == "schedule_decay") {
      if (value.getAsNumber().value_or(0.0) != 0.0 && key == "decay")
        warnings.push_back(
            "the optimizer's 'decay' is ignored, as Keras 3 does; give it a learning "
            "rate schedule (InverseTimeDecay) instead");
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
  if (llvm::StringRef(name).ends_with("Wrapper"))
    if (std::optional<llvm::StringRef> function = config.getString("fn")) {
      name = camelCase(*function);
      config.erase("fn");
    }
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

json::Object modernizeTraining(const json::Object &legacy,
                               const std::optional<LegacyLossScale> &scale,
                               std::vector<std::string> &warnings) {
  json::Object config;
  auto take = [&](llvm::StringRef key) {
    const json::Value *value = legacy.get(key);
    return value ? *value : json::Value(nullptr);
  };
  json::Value optimizer = convertOptimizer(take("optimizer_config"), warnings);
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
