// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists and dictionaries over outputs.
#include "lib/Training/OutputParts.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;
using Json = llvm::json::Value;

namespace {
struct Sorter {
  SmallVectorImpl<ConfigRemark> &problems, &warnings;
  bool keys, maySkip;
  std::vector<OutputParts> outputs;

  std::string nameList() {
    SmallVector<StringRef> names;
    for (const OutputParts &output : outputs)
      names.push_back(output.name);
    return llvm::join(names, ", ");
  }
  void problem(StringRef part, const Twine &text) { problems.push_back({part, text.str()}); }

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
        return problem(part, "lists " + Twine(list->size()) + " entries for " +
                                 Twine(outputs.size()) + " outputs; expected one for each of " +
                                 nameList() + ", null where there is none");
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
        problem(part, "names '" + name + "', which is no output; expected " + nameList());
    }
    if (needsAllKeys)
      for (const OutputParts &output : outputs)
        if (!dictionary.get(output.name))
          problems.push_back(
              {part, "has no entry for output '" + output.name + "'; null means none", true});
  }

  /// A loss or a weight in a structure, with its key where that is a dictionary.
  struct Leaf {
    StringRef key;
    const Json *value;
  };
  /// The leaves in the order in which Keras flattens: of a dictionary by sorted keys.
  static SmallVector<Leaf> leavesOf(const Json &structure) {
    SmallVector<Leaf> leaves;
    if (const llvm::json::Array *list = structure.getAsArray()) {
      for (const Json &element : *list)
        leaves.push_back({"", &element});
    } else if (const llvm::json::Object *dictionary = asDictionary(structure)) {
      for (const auto &[key, element] : *dictionary)
        leaves.push_back({key, &element});
      llvm::sort(leaves, [](const Leaf &a, const Leaf &b) { return a.key < b.key; });
    } else {
      leaves.push_back({"", &structure});
    }
    return leaves;
  }

  void takeLosses(const Json &loss) {
    auto take = [](OutputParts &output, const Json &value) {
      output.loss = CompileConfig::isNull(value) ? nullptr : &value;
    };
    if (loss.getAsArray() || asDictionary(loss))
      return distribute(loss, "loss", !keys && !maySkip, take);
    for (OutputParts &output : outputs)
      take(output, loss);
  }

  /// keras/src/trainers/compile_utils.py, CompileLoss.build: weights go with the leaves of `loss`,
  /// by key where both are dictionaries with the same keys, else leaf by leaf; the only weight
  /// beside one loss for all outputs is for all. Where Keras fails there is a problem, but for a
  /// weight for each output beside one loss for all.
  void takeWeights(const Json &weights, const Json &loss) {
    StringRef part = "loss_weights";
    auto take = [&](OutputParts &output, const Json &value) {
      if (auto number = value.getAsNumber())
        output.lossWeight = *number;
      else if (!CompileConfig::isNull(value))
        problem(part, "the weight of output '" + output.name + "' is no number");
    };
    if (CompileConfig::isNull(weights) || !problems.empty())
      return;
    SmallVector<Leaf> given = leavesOf(weights), losses = leavesOf(loss);
    const bool byName = asDictionary(weights),
               oneForAll = !loss.getAsArray() && !asDictionary(loss);
    for (const Leaf &leaf : given)
      if (byName && !find(leaf.key))
        problem(part, "names '" + leaf.key + "', which is no output; expected " + nameList());
    if (!problems.empty())
      return;
    if (oneForAll && given.size() == 1) {
      for (OutputParts &output : outputs)
        take(output, *given.front().value);
      if (byName && outputs.size() > 1)
        warnings.push_back(
            {part, ("names '" + given.front().key +
                    "' alone beside one loss for all outputs; as in Keras its weight is for "
                    "all of them")
                       .str()});
      return;
    }
    if (oneForAll && given.size() == outputs.size())
      return distribute(weights, part, false, take);
    if (byName && asDictionary(loss) && !keys) {
      // Both in the order of the outputs.
      for (OutputParts &output : outputs)
        if (const Json *value = asDictionary(weights)->get(output.name))
          take(output, *value);
        else
          problem(part, "has no entry for output '" + output.name + "'; null means none");
      return;
    }
    if (given.size() != losses.size())
      return problem(part, "gives " + Twine(given.size()) + " weights for " + Twine(losses.size()) +
                               " losses; expected one for each, null where there is none");
    for (auto [i, leaf] : llvm::enumerate(given)) {
      // A list of losses, and a dictionary for outputs that are a list, are in the outputs' order.
      const bool isKeyed = asDictionary(loss) && keys;
      OutputParts &output = isKeyed ? *find(losses[i].key) : outputs[i];
      take(output, *leaf.value);
      if (byName && leaf.key != output.name)
        warnings.push_back(
            {part, ("the weight of '" + leaf.key + "' is for the loss of output '" + output.name +
                    "': as in Keras, the sorted names go with the losses one "
                    "by one; give both as lists or with the same names")
                       .str()});
    }
  }

  void takeMetrics(const Json &metrics, StringRef part,
                   SmallVector<const Json *> OutputParts::*member) {
    if (CompileConfig::isNull(metrics))
      return;
    if (outputs.size() == 1)
      return flattenMetrics(metrics, outputs.front().*member);
    if (const llvm::json::Array *list = metrics.getAsArray(); list && list->empty())
      return;
    if (!metrics.getAsArray() && !asDictionary(metrics))
      return problem(part, "expected a list or a dictionary over the outputs " + nameList());
    distribute(metrics, part, false, [&](OutputParts &output, const Json &value) {
      flattenMetrics(value, output.*member);
    });
  }
};
} // namespace

void mpc::flattenMetrics(const Json &value, SmallVectorImpl<const Json *> &metrics) {
  if (CompileConfig::isNull(value))
    return;
  if (const llvm::json::Array *list = value.getAsArray()) {
    for (const Json &element : *list)
      flattenMetrics(element, metrics);
  } else if (const llvm::json::Object *dictionary = asDictionary(value)) {
    for (const auto &entry : *dictionary)
      flattenMetrics(entry.second, metrics);
  } else {
    metrics.push_back(&value);
  }
}

std::vector<OutputParts> mpc::sortByOutput(const CompileConfig &config, const OutputNames &outputs,
                                           SmallVectorImpl<ConfigRemark> &problems,
                                           SmallVectorImpl<ConfigRemark> &warnings) {
  if (!CompileConfig::isNull(outputs.nested))
    return sortByNestedOutput(config, outputs, problems);
  Sorter sorter{problems, warnings, outputs.keys, outputs.maySkip, {}};
  for (const std::string &name : outputs.names) {
    sorter.outputs.emplace_back();
    sorter.outputs.back().name = sorter.outputs.back().lossName = name;
  }
  sorter.takeLosses(config.loss);
  sorter.takeWeights(config.lossWeights, config.loss);
  sorter.takeMetrics(config.metrics, "metrics", &OutputParts::metrics);
  sorter.takeMetrics(config.weightedMetrics, "weighted_metrics", &OutputParts::weightedMetrics);
  return std::move(sorter.outputs);
}
