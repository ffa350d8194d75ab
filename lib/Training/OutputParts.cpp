// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists and dictionaries over outputs.
#include "lib/Training/OutputParts.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;
using Json = llvm::json::Value;

/// Names a user's structure, not a serialised Keras object.
static const llvm::json::Object *asDictionary(const Json &value) {
  const llvm::json::Object *object = value.getAsObject();
  return object && !object->get("class_name") ? object : nullptr;
}

namespace {
struct Sorter {
  SmallVectorImpl<std::string> &problems;
  bool keys;
  std::vector<OutputParts> outputs;

  std::string nameList() {
    SmallVector<StringRef> names;
    for (const OutputParts &output : outputs)
      names.push_back(output.name);
    return llvm::join(names, ", ");
  }
  void problem(StringRef part, const Twine &text) { problems.push_back((part + text).str()); }

  OutputParts *find(StringRef name) {
    for (OutputParts &output : outputs)
      if (output.name == name)
        return &output;
    return nullptr;
  }

  /// Calls `take` with each output and its element of a list or dictionary.
  void distribute(const Json &value, StringRef part, bool needsAllKeys,
                  llvm::function_ref<void(OutputParts &, const Json &)> take) {
    if (const llvm::json::Array *list = value.getAsArray()) {
      if (list->size() != outputs.size())
        return problem(part, ": lists " + Twine(list->size()) + " entries for " +
                                 Twine(outputs.size()) + " outputs; expected one for each of " +
                                 nameList());
      for (size_t i = 0; i < outputs.size(); ++i)
        take(outputs[i], (*list)[i]);
      return;
    }
    const llvm::json::Object &dictionary = *asDictionary(value);
    for (const auto &[key, element] : dictionary) {
      StringRef name = key;
      if (OutputParts *output = find(name))
        take(*output, element);
      else
        problem(part, ": names '" + name + "', which is no output; expected " + nameList());
    }
    if (needsAllKeys)
      for (const OutputParts &output : outputs)
        if (!dictionary.get(output.name))
          problem(part, ": has no entry for output '" + output.name + "'; null means none");
  }

  void takeLosses(const Json &loss) {
    auto take = [](OutputParts &output, const Json &value) {
      output.loss = CompileConfig::isNull(value) ? nullptr : &value;
    };
    if (loss.getAsArray() || asDictionary(loss))
      return distribute(loss, "compile_config.loss", !keys, take);
    for (OutputParts &output : outputs)
      take(output, loss);
  }

  void takeWeights(const Json &weights) {
    StringRef part = "compile_config.loss_weights";
    auto take = [&](OutputParts &output, const Json &value) {
      if (auto number = value.getAsNumber())
        output.lossWeight = *number;
      else if (!CompileConfig::isNull(value))
        problem(part, ": the weight of output '" + output.name + "' is no number");
    };
    if (CompileConfig::isNull(weights))
      return;
    if (weights.getAsArray() || asDictionary(weights))
      return distribute(weights, part, false, take);
    if (outputs.size() != 1)
      return problem(part, ": is one number for " + Twine(outputs.size()) +
                               " outputs; expected a list or a dictionary");
    take(outputs.front(), weights);
  }

  static void flatten(const Json &value, SmallVectorImpl<const Json *> &metrics) {
    if (CompileConfig::isNull(value))
      return;
    if (const llvm::json::Array *list = value.getAsArray()) {
      for (const Json &element : *list)
        flatten(element, metrics);
    } else if (const llvm::json::Object *dictionary = asDictionary(value)) {
      for (const auto &entry : *dictionary)
        flatten(entry.second, metrics);
    } else {
      metrics.push_back(&value);
    }
  }

  void takeMetrics(const Json &metrics, StringRef part,
                   SmallVector<const Json *> OutputParts::*member) {
    if (CompileConfig::isNull(metrics))
      return;
    if (outputs.size() == 1)
      return flatten(metrics, outputs.front().*member);
    if (const llvm::json::Array *list = metrics.getAsArray(); list && list->empty())
      return;
    if (!metrics.getAsArray() && !asDictionary(metrics))
      return problem(part, ": expected a list or a dictionary over the outputs " + nameList());
    distribute(metrics, part, false,
               [&](OutputParts &output, const Json &value) { flatten(value, output.*member); });
  }
};
} // namespace

std::vector<OutputParts> mpc::sortByOutput(const CompileConfig &config, ArrayRef<std::string> names,
                                           bool keys, SmallVectorImpl<std::string> &problems) {
  Sorter sorter{problems, keys, {}};
  for (const std::string &name : names) {
    sorter.outputs.emplace_back();
    sorter.outputs.back().name = name;
  }
  sorter.takeLosses(config.loss);
  sorter.takeWeights(config.lossWeights);
  sorter.takeMetrics(config.metrics, "compile_config.metrics", &OutputParts::metrics);
  sorter.takeMetrics(config.weightedMetrics, "compile_config.weighted_metrics",
                     &OutputParts::weightedMetrics);
  return std::move(sorter.outputs);
}
