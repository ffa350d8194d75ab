// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --loss, --optimizer, --metrics, --learning-rate over the file's compile config.
#include "lib/Driver/CompileConfig.h"
#include "mpc/Import/Keras/Config.h"
#include "mpc/Support/InputFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace mpc;
using llvm::StringRef;

static llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

/// A Keras name, or the JSON in the file of that name; `place` becomes the option or the file.
static llvm::Expected<llvm::json::Value> nameOrFile(StringRef option, StringRef text,
                                                    std::string &place) {
  if (!llvm::sys::fs::exists(text)) {
    if (text.ends_with(".json"))
      return makeError(option + "=" + text +
                       ": no such file; give a Keras name or a JSON file with a serialised object");
    place = (option + "=" + text).str();
    return llvm::json::Value(text.str());
  }
  auto buffer = readInputFile(text);
  if (!buffer)
    return makeError(text + ": cannot be read: " + buffer.getError().message());
  // Python's dialect, since json.dump writes it, with bounds on depth and size.
  llvm::Expected<llvm::json::Value> json = keras::parsePythonJson((*buffer)->getBuffer(), text);
  if (!json)
    return makeError(llvm::toString(json.takeError()) +
                     "; expected a Keras-serialised object for " + option);
  place = text.str();
  return json;
}

/// Sets the rate where the optimizer keeps it: in the innermost config.
static void setLearningRate(llvm::json::Value &optimizer, double rate) {
  if (auto name = optimizer.getAsString()) {
    // A copy: the name lives in what the assignment replaces.
    optimizer = llvm::json::Object{{"class_name", name->str()},
                                   {"config", llvm::json::Object{{"learning_rate", rate}}}};
    return;
  }
  llvm::json::Object *object = optimizer.getAsObject();
  if (!object)
    return; // buildOptimizer says so
  if (!object->getObject("config"))
    (*object)["config"] = llvm::json::Object();
  llvm::json::Object &config = *object->getObject("config");
  if (llvm::json::Value *inner = config.get("inner_optimizer"))
    return setLearningRate(*inner, rate);
  config["learning_rate"] = rate;
}

llvm::Expected<CompileConfig> mpc::mergeCompileConfig(const llvm::json::Object &file,
                                                      const CompileOptions &options) {
  CompileConfig config;
  auto take = [&](StringRef key, llvm::json::Value &value) {
    if (const llvm::json::Value *found = file.get(key))
      value = *found;
  };
  take("optimizer", config.optimizer);
  take("loss", config.loss);
  take("loss_weights", config.lossWeights);
  take("metrics", config.metrics);
  take("weighted_metrics", config.weightedMetrics);
  using Option = std::tuple<StringRef, StringRef, llvm::json::Value &, std::string &>;
  for (auto [option, text, value, place] :
       {Option("--loss", options.loss, config.loss, config.lossPlace),
        Option("--optimizer", options.optimizer, config.optimizer, config.optimizerPlace)}) {
    if (text.empty())
      continue;
    auto json = nameOrFile(option, text, place);
    if (!json)
      return json.takeError();
    value = std::move(*json);
  }
  if (!options.metrics.empty()) {
    llvm::SmallVector<StringRef> names;
    StringRef(options.metrics).split(names, ',', -1, /*KeepEmpty=*/false);
    llvm::json::Array metrics;
    for (StringRef name : names) {
      auto json = nameOrFile("--metrics", name, config.metricsPlace);
      if (!json)
        return json.takeError();
      if (llvm::json::Array *many = json->getAsArray(); many && names.size() == 1)
        metrics = std::move(*many);
      else
        metrics.push_back(std::move(*json));
    }
    config.metrics = std::move(metrics);
    if (names.size() > 1)
      config.metricsPlace = "--metrics=" + options.metrics; // any of them
  }
  if (options.learningRate) {
    if (CompileConfig::isNull(config.optimizer))
      return makeError("--learning-rate: the model names no optimizer; add --optimizer=NAME");
    setLearningRate(config.optimizer, *options.learningRate);
  }
  return config;
}
