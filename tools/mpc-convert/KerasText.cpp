// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Training config into config.json.
#include "tools/mpc-convert/KerasText.h"

#include "mpc/Training/TrainingOptions.h"

using namespace mpc;
using llvm::StringRef;
namespace json = llvm::json;

/// The oldest version that reads what is written, for models that name none.
static constexpr StringRef kDefaultVersion = "3.0.0";

/// The object that Keras serialises. compile() also took names, and --learning-rate makes an object
/// of one without a module, by which Keras finds the class.
static json::Value toObject(const json::Value &optimizer) {
  json::Object object;
  if (std::optional<StringRef> name = optimizer.getAsString())
    object["class_name"] = name->str();
  else if (const json::Object *given = optimizer.getAsObject())
    object = *given;
  else
    return optimizer;
  if (!object.get("config"))
    object["config"] = json::Object();
  if (json::Object *config = object.getObject("config"))
    if (json::Value *inner = config->get("inner_optimizer")) {
      json::Value spelledOut = toObject(*inner);
      *inner = std::move(spelledOut);
    }
  const std::string className = object.getString("class_name").value_or("").str();
  if (!object.get("module")) {
    object["class_name"] = optimizerClassName(className).str();
    object["module"] = "keras.optimizers";
    object["registered_name"] = nullptr;
  }
  return object;
}

static bool isScaler(const json::Value &optimizer) {
  const json::Object *object = optimizer.getAsObject();
  return object && object->getString("class_name") == StringRef("LossScaleOptimizer");
}

/// The optimizer that Keras shall continue with; nothing when the file's own is right.
static std::optional<json::Value> chooseOptimizer(ModelState &state, bool overridden) {
  json::Value optimizer = state.optimizer;
  const bool scaled = isScaler(optimizer);
  if (!state.layout.scalesLoss) {
    if (!scaled)
      return overridden ? std::optional<json::Value>(toObject(optimizer)) : std::nullopt;
    const json::Value *inner = optimizer.getAsObject()->getObject("config")->get("inner_optimizer");
    return inner ? std::optional<json::Value>(toObject(*inner)) : std::nullopt;
  }
  if (state.isFixedScale) {
    if (scaled)
      if (const json::Value *inner =
              optimizer.getAsObject()->getObject("config")->get("inner_optimizer")) {
        json::Value copy = *inner;
        optimizer = std::move(copy);
      }
    optimizer = toObject(optimizer);
    if (json::Object *config = optimizer.getAsObject()->getObject("config"))
      (*config)["loss_scale_factor"] = state.initialScale;
    auto &names = state.layout.optimizer;
    llvm::erase_if(
        names, [](StringRef name) { return name.starts_with("optimizer/loss_scale_optimizer/"); });
    state.layout.scalesLoss = false;
    return optimizer;
  }
  if (scaled)
    return overridden ? std::optional<json::Value>(toObject(optimizer)) : std::nullopt;
  return json::Value(
      json::Object{{"module", "keras.optimizers"},
                   {"class_name", "LossScaleOptimizer"},
                   {"config", json::Object{{"name", "loss_scale_optimizer"},
                                           {"inner_optimizer", toObject(optimizer)},
                                           {"initial_scale", state.initialScale},
                                           {"dynamic_growth_steps", state.growthSteps}}},
                   {"registered_name", nullptr}});
}

llvm::Expected<std::string> mpc::makeConfigText(ModelState &state, bool overridden) {
  std::string text =
      state.configText.empty() ? keras::printPythonJson(state.config) : state.configText;
  auto splice = [&](llvm::ArrayRef<StringRef> keys, const json::Value &value) {
    std::optional<std::string> changed =
        keras::spliceJson(text, keys, keras::printPythonJson(value));
    if (changed)
      text = std::move(*changed);
    return changed.has_value();
  };
  if (state.optimizer.kind() == json::Value::Null)
    return text;
  bool good = true;
  if (std::optional<json::Value> optimizer = chooseOptimizer(state, overridden))
    good = splice({"compile_config", "optimizer"}, *optimizer);
  if (overridden) {
    good = good && splice({"compile_config", "loss"}, state.loss);
    good = good && splice({"compile_config", "metrics"}, state.metrics);
  }
  if (!good)
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   "the model's config.json cannot take a compile_config");
  return text;
}

std::string mpc::makeMetadataText(const ModelState &state) {
  if (!state.metadata.empty())
    return state.metadata;
  return keras::printPythonJson(json::Object{{"keras_version", kDefaultVersion.str()},
                                             {"date_saved", "1980-01-01@00:00:00"}});
}

std::string mpc::kerasVersionOf(const ModelState &state) {
  llvm::Expected<json::Value> metadata = json::parse(state.metadata);
  if (!metadata) {
    llvm::consumeError(metadata.takeError());
    return kDefaultVersion.str();
  }
  const json::Object *object = metadata->getAsObject();
  return object ? object->getString("keras_version").value_or(kDefaultVersion).str()
                : kDefaultVersion.str();
}
