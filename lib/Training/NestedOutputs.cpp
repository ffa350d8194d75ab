// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists and dictionaries of outputs inside each other, and losses, weights and metrics along them
// (keras/src/trainers/compile_utils.py: CompileLoss._build_nested, CompileMetrics).
#include "lib/Training/OutputParts.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;
using Json = llvm::json::Value;

namespace {

bool isContainer(const Json &value) { return value.getAsArray() || asDictionary(value); }

/// Calls `take` with the leaves in the order in which Keras flattens: of a dictionary by sorted
/// keys.
void forEachLeaf(const Json &value, llvm::function_ref<void(const Json &)> take) {
  if (const llvm::json::Array *list = value.getAsArray()) {
    for (const Json &element : *list)
      forEachLeaf(element, take);
  } else if (const llvm::json::Object *dictionary = asDictionary(value)) {
    SmallVector<StringRef> keys;
    for (const auto &entry : *dictionary)
      keys.push_back(entry.first);
    llvm::sort(keys);
    for (StringRef key : keys)
      forEachLeaf(*dictionary->get(key), take);
  } else {
    take(value);
  }
}

SmallVector<const Json *> leavesOf(const Json &value) {
  SmallVector<const Json *> leaves;
  forEachLeaf(value, [&](const Json &leaf) { leaves.push_back(&leaf); });
  return leaves;
}

std::string joinPath(StringRef path, const Twine &step) {
  return path.empty() ? step.str() : (path + "/" + step).str();
}

class NestedSorter {
public:
  NestedSorter(const CompileConfig &config, const OutputNames &names,
               SmallVectorImpl<ConfigRemark> &problems)
      : config(config), structure(names.nested), problems(problems) {
    for (const std::string &name : names.names) {
      outputs.emplace_back();
      outputs.back().name = outputs.back().lossName = name;
    }
    nameLosses(structure, "");
  }

  std::vector<OutputParts> run() {
    takeLosses();
    if (problems.empty())
      takeWeights();
    takeMetrics(config.metrics, "metrics", &OutputParts::metrics);
    takeMetrics(config.weightedMetrics, "weighted_metrics", &OutputParts::weightedMetrics);
    return std::move(outputs);
  }

private:
  using Metrics = SmallVector<const Json *> OutputParts::*;

  void problem(StringRef part, const Twine &text) {
    problems.push_back({part, (text + "; the outputs are " + describe(structure)).str()});
  }
  OutputParts &outputAt(const Json &leaf) { return outputs[size_t(*leaf.getAsInteger())]; }
  void nameLosses(const Json &part, StringRef path);
  /// The outputs with names in place of numbers: `{"p": a, "q": [b, c]}`.
  std::string describe(const Json &part);

  void takeLosses();
  void takeLossesByName(const llvm::json::Object &losses);
  void takeLoss(const Json &loss, const Json &part, StringRef path);
  void takeWeights();
  void takeMetrics(const Json &metrics, StringRef part, Metrics member);
  void takeMetricsOf(const Json &metrics, const Json &outputs, StringRef part, StringRef path,
                     Metrics member);

  const CompileConfig &config;
  const Json &structure;
  SmallVectorImpl<ConfigRemark> &problems;
  std::vector<OutputParts> outputs;
};

/// The path, but the output's name where that ends with a position.
void NestedSorter::nameLosses(const Json &part, StringRef path) {
  if (const llvm::json::Array *list = part.getAsArray()) {
    for (auto [i, element] : llvm::enumerate(*list))
      if (element.getAsInteger())
        outputAt(element).lossName = joinPath(path, outputAt(element).name);
      else
        nameLosses(element, joinPath(path, Twine(i)));
  } else if (const llvm::json::Object *dictionary = part.getAsObject()) {
    for (const auto &[key, element] : *dictionary)
      nameLosses(element, joinPath(path, StringRef(key)));
  } else {
    outputAt(part).lossName = path.str();
  }
}

std::string NestedSorter::describe(const Json &part) {
  if (part.getAsInteger())
    return outputAt(part).name;
  SmallVector<std::string> items;
  if (const llvm::json::Array *list = part.getAsArray()) {
    for (const Json &element : *list)
      items.push_back(describe(element));
    return "[" + llvm::join(items, ", ") + "]";
  }
  for (const auto &[key, element] : *part.getAsObject())
    items.push_back(("\"" + StringRef(key) + "\": " + describe(element)).str());
  llvm::sort(items);
  return "{" + llvm::join(items, ", ") + "}";
}

void NestedSorter::takeLosses() {
  const llvm::json::Object *byName = asDictionary(config.loss);
  if (byName && structure.getAsArray())
    takeLossesByName(*byName);
  else if (!CompileConfig::isNull(config.loss))
    takeLoss(config.loss, structure, "");
}

/// Beside a list the keys are the names of all outputs (CompileLoss.build).
void NestedSorter::takeLossesByName(const llvm::json::Object &losses) {
  for (const auto &entry : losses)
    if (llvm::none_of(outputs, [&](const OutputParts &output) {
          return StringRef(output.name) == StringRef(entry.first);
        }))
      problem("loss", "names '" + StringRef(entry.first) + "', which is no output");
  for (OutputParts &output : outputs)
    if (const Json *loss = losses.get(output.name))
      output.loss = CompileConfig::isNull(*loss) ? nullptr : loss;
    else
      problem("loss", "has no entry for output '" + output.name + "'; null means none");
}

void NestedSorter::takeLoss(const Json &loss, const Json &part, StringRef path) {
  if (CompileConfig::isNull(loss))
    return;
  const SmallVector<const Json *> leaves = leavesOf(part);
  if (!isContainer(loss)) {
    if (!part.getAsInteger() && !path.empty())
      return problem("loss", "has one entry for '" + path + "'; expected one for each output of " +
                                 describe(part));
    for (const Json *leaf : leaves)
      outputAt(*leaf).loss = &loss;
    return;
  }
  const llvm::json::Array *list = loss.getAsArray(), *parts = part.getAsArray();
  // A flat list goes along all outputs in their order.
  if (list && list->size() == leaves.size() && llvm::none_of(*list, isContainer)) {
    for (auto [element, leaf] : llvm::zip_equal(*list, leaves))
      outputAt(*leaf).loss = CompileConfig::isNull(element) ? nullptr : &element;
    return;
  }
  const llvm::json::Object *dictionary = asDictionary(loss), *keyed = part.getAsObject();
  if (list && parts && list->size() <= parts->size()) {
    for (auto [i, element] : llvm::enumerate(*list))
      takeLoss(element, (*parts)[i], joinPath(path, Twine(i)));
  } else if (dictionary && keyed) {
    for (const auto &[key, element] : *dictionary)
      if (const Json *inner = keyed->get(key))
        takeLoss(element, *inner, joinPath(path, StringRef(key)));
      else
        problem("loss", "names '" + joinPath(path, StringRef(key)) + "', which is no output");
  } else {
    const std::string place = path.empty() ? "is" : ("has for '" + path + "'").str(),
                      kind = list ? "list of " + std::to_string(list->size()) + " entries"
                                  : std::string("dictionary");
    problem("loss", place + " a " + kind + "; expected the structure " + describe(part));
  }
}

/// Weights go with the leaves of `loss`, one by one in the order in which both are flattened;
/// beside one loss for all outputs there is one.
void NestedSorter::takeWeights() {
  StringRef part = "loss_weights";
  const Json &weights = config.lossWeights;
  if (CompileConfig::isNull(weights))
    return;
  auto take = [&](OutputParts &output, const Json &value) {
    if (auto number = value.getAsNumber())
      output.lossWeight = *number;
    else if (!CompileConfig::isNull(value))
      problem(part, "the weight of output '" + output.name + "' is no number");
  };
  const llvm::json::Object *named = asDictionary(weights);
  const bool isByName = asDictionary(config.loss) && structure.getAsArray();
  if (isByName && named) {
    for (OutputParts &output : outputs)
      if (const Json *value = named->get(output.name))
        take(output, *value);
      else
        problem(part, "has no entry for output '" + output.name + "'; null means none");
    return;
  }
  SmallVector<const Json *> given = leavesOf(weights), losses = leavesOf(config.loss);
  if (given.size() != losses.size())
    return problem(part, "gives " + Twine(given.size()) + " weights for " + Twine(losses.size()) +
                             " losses; expected one for each, null where there is none");
  if (isByName) { // losses in the order of the outputs
    for (auto [output, value] : llvm::zip_equal(outputs, given))
      take(output, *value);
    return;
  }
  for (auto [loss, value] : llvm::zip_equal(losses, given))
    for (OutputParts &output : outputs)
      if (output.loss == loss)
        take(output, *value);
}

void NestedSorter::takeMetrics(const Json &metrics, StringRef part, Metrics member) {
  const llvm::json::Array *list = metrics.getAsArray();
  const llvm::json::Object *dictionary = asDictionary(metrics);
  if (!CompileConfig::isNull(metrics) && !(list && list->empty()) &&
      !(dictionary && dictionary->empty()))
    takeMetricsOf(metrics, structure, part, "", member);
}

/// Unlike losses they have the structure of the outputs exactly; a leaf may be a list.
void NestedSorter::takeMetricsOf(const Json &metrics, const Json &outputs, StringRef part,
                                 StringRef path, Metrics member) {
  if (outputs.getAsInteger())
    return flattenMetrics(metrics, outputAt(outputs).*member);
  const llvm::json::Array *list = metrics.getAsArray(), *parts = outputs.getAsArray();
  const llvm::json::Object *dictionary = asDictionary(metrics), *keyed = outputs.getAsObject();
  if (list && parts && list->size() == parts->size()) {
    for (auto [i, element] : llvm::enumerate(*list))
      takeMetricsOf(element, (*parts)[i], part, joinPath(path, Twine(i)), member);
    return;
  }
  if (dictionary && keyed && dictionary->size() == keyed->size() &&
      llvm::all_of(*keyed, [&](const auto &entry) { return dictionary->get(entry.first); })) {
    for (const auto &[key, element] : *keyed)
      takeMetricsOf(*dictionary->get(key), element, part, joinPath(path, StringRef(key)), member);
    return;
  }
  const std::string place = path.empty() ? "" : ("for '" + path + "': ").str();
  problem(part, place + "expected the structure " + describe(outputs) +
                    " with a metric, a list of them or null for each output");
}

} // namespace

std::vector<OutputParts> mpc::sortByNestedOutput(const CompileConfig &config,
                                                 const OutputNames &outputs,
                                                 SmallVectorImpl<ConfigRemark> &problems) {
  return NestedSorter(config, outputs, problems).run();
}
