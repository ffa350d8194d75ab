// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names in a file's training config that mpc does not know: predictions do not need them.
#include "lib/Training/Losses.h"
#include "lib/Training/Metrics.h"
#include "lib/Training/OptimizerRules.h"
#include "mpc/Training/Training.h"

using namespace mlir;
using namespace mpc;

namespace {

using Json = llvm::json::Value;

/// Whether the value is one object, not a list or dictionary of them.
bool isOne(const Json &value) {
  const llvm::json::Object *object = value.getAsObject();
  return value.getAsString() || (object && object->getString("class_name"));
}

/// Calls `visit` with every loss or metric in a list or dictionary of them, and gives it what that
/// returns.
void replaceEach(Json &value, llvm::function_ref<Json(const Json &)> visit) {
  if (isOne(value)) {
    Json made = visit(value);
    value = std::move(made);
  } else if (llvm::json::Array *list = value.getAsArray()) {
    for (Json &item : *list)
      replaceEach(item, visit);
  } else if (llvm::json::Object *dictionary = value.getAsObject()) {
    for (auto &[key, item] : *dictionary)
      replaceEach(item, visit);
  }
}

bool isKnownOptimizer(const Json &value, unsigned depth = 0) {
  std::optional<KerasObject> object = KerasObject::parse(value);
  if (!object || depth > 4)
    return true; // reported where it is built
  if (const Json *inner = object->config.get("inner_optimizer"))
    return isKnownOptimizer(*inner, depth + 1);
  return lookupRule(object->identifier);
}

} // namespace

std::vector<std::string> mpc::leaveUnknownOut(CompileConfig &config) {
  std::vector<std::string> remarks;
  auto take = [&](Json &part, StringRef what, StringRef consequence, auto isKnown) {
    bool anyUnknown = false;
    replaceEach(part, [&](const Json &value) -> Json {
      std::optional<KerasObject> object = KerasObject::parseLoss(value);
      if (!object || isKnown(*object))
        return value;
      anyUnknown = true;
      remarks.push_back(("the " + what + " '" + object->identifier +
                         "' is not known, whose Python code is not in the file: " + consequence)
                            .str());
      return nullptr;
    });
    return anyUnknown;
  };
  if (config.metricsPlace.empty())
    for (Json *part : {&config.metrics, &config.weightedMetrics})
      take(*part, "metric", "it is left out", [](const KerasObject &metric) {
        return isKnownMetric(canonicalName(metric.identifier));
      });
  const StringRef alone = "compiled for inference alone; --loss and --optimizer name others";
  if (config.lossPlace.empty() && take(config.loss, "loss", alone, [](const KerasObject &loss) {
        return bool(lookupLoss(canonicalName(loss.identifier)));
      })) {
    config.loss = nullptr;
    config.hasOwnLoss = false; // which would be a part of the loss
  }
  if (config.optimizerPlace.empty() && !isKnownOptimizer(config.optimizer)) {
    remarks.push_back(("the optimizer '" + KerasObject::parse(config.optimizer)->identifier +
                       "' is not known: " + alone)
                          .str());
    config.optimizer = nullptr;
  }
  return remarks;
}
