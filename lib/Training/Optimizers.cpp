// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Optimizer configs: rules with Keras's defaults, BaseOptimizer's options, schedules, and the
// LossScaleOptimizer around them (keras/src/optimizers/*.py).
#include "lib/Training/Optimizers.h"
#include "lib/Training/KerasObject.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

using namespace mlir;
using namespace mpc;

namespace {

struct RuleEntry {
  double learningRate;
  OptimizerRuleAttrInterface (*build)(Builder &b, const KerasObject &o);
};

} // namespace

static OptimizerRuleAttrInterface buildSGD(Builder &b, const KerasObject &o) {
  return SGDAttr::get(b.getContext(), b.getF64FloatAttr(o.number("momentum", 0)),
                      o.boolean("nesterov", false));
}

static OptimizerRuleAttrInterface buildRMSprop(Builder &b, const KerasObject &o) {
  return RMSpropAttr::get(b.getContext(), b.getF64FloatAttr(o.number("rho", 0.9)),
                          b.getF64FloatAttr(o.number("momentum", 0)),
                          b.getF64FloatAttr(o.number("epsilon", 1e-7)),
                          o.boolean("centered", false));
}

static OptimizerRuleAttrInterface buildAdam(Builder &b, const KerasObject &o) {
  return AdamAttr::get(b.getContext(), b.getF64FloatAttr(o.number("beta_1", 0.9)),
                       b.getF64FloatAttr(o.number("beta_2", 0.999)),
                       b.getF64FloatAttr(o.number("epsilon", 1e-7)), o.boolean("amsgrad", false));
}

static const std::map<std::string, RuleEntry, std::less<>> &rules() {
  static const std::map<std::string, RuleEntry, std::less<>> table = {
      {"adam", {0.001, buildAdam}},
      {"rmsprop", {0.001, buildRMSprop}},
      {"sgd", {0.01, buildSGD}},
  };
  return table;
}

static Attribute toAttribute(Builder &b, const llvm::json::Value &value) {
  if (auto number = value.getAsInteger())
    return b.getI64IntegerAttr(*number);
  if (auto number = value.getAsNumber())
    return b.getF64FloatAttr(*number);
  if (auto flag = value.getAsBoolean())
    return b.getBoolAttr(*flag);
  if (auto text = value.getAsString())
    return b.getStringAttr(*text);
  if (const llvm::json::Array *array = value.getAsArray()) {
    SmallVector<Attribute> elements;
    for (const llvm::json::Value &element : *array)
      elements.push_back(toAttribute(b, element));
    return b.getArrayAttr(elements);
  }
  return b.getUnitAttr(); // null
}

/// `{"class_name", "config": {…}}` of a schedule as one dictionary with class_name in it.
static FailureOr<DictionaryAttr> buildSchedule(Builder &b, Location loc,
                                               const llvm::json::Object &json) {
  static const StringRef known[] = {"ExponentialDecay", "PiecewiseConstantDecay",
                                    "PolynomialDecay",  "InverseTimeDecay",
                                    "CosineDecay",      "CosineDecayRestarts"};
  StringRef className = json.getString("class_name").value_or("");
  if (!llvm::is_contained(known, className))
    return emitError(loc) << "learning rate schedule '" << className
                          << "' is not supported; use a number or one of "
                          << llvm::join(ArrayRef(known), ", ");
  NamedAttrList attributes;
  attributes.append("class_name", b.getStringAttr(className));
  if (const llvm::json::Object *config = json.getObject("config"))
    for (const auto &entry : *config)
      if (entry.second.kind() != llvm::json::Value::Null && !entry.second.getAsObject())
        attributes.append(StringRef(entry.first), toAttribute(b, entry.second));
  return attributes.getDictionary(b.getContext());
}

static LogicalResult buildLossScale(OpBuilder &b, Location loc, const KerasObject &scaler) {
  // Fixed scales exist in files of TensorFlow 2 only.
  IntegerAttr growthSteps;
  if (scaler.boolean("dynamic", true))
    growthSteps = b.getI64IntegerAttr(int64_t(scaler.number("dynamic_growth_steps", 2000)));
  LossScaleOp::create(b, loc, b.getF64FloatAttr(scaler.number("initial_scale", 32768)), growthSteps,
                      FloatAttr(), FloatAttr());
  return success();
}

LogicalResult mpc::buildOptimizer(OpBuilder &b, Location loc, const llvm::json::Value &json) {
  std::optional<KerasObject> object = KerasObject::parse(json);
  if (!object)
    return emitError(loc) << "optimizer must be a name or a serialised object";
  std::string name = canonicalName(object->identifier);
  if (name == "loss_scale_optimizer") {
    const llvm::json::Value *inner = object->config.get("inner_optimizer");
    if (!inner)
      return emitError(loc) << "LossScaleOptimizer has no inner_optimizer";
    return failure(failed(buildLossScale(b, loc, *object)) ||
                   failed(buildOptimizer(b, loc, *inner)));
  }
  auto entry = rules().find(name);
  if (entry == rules().end()) {
    SmallVector<StringRef> names;
    for (const auto &rule : rules())
      names.push_back(rule.first);
    return emitError(loc) << "optimizer '" << object->identifier
                          << "' is not supported; use one of " << llvm::join(names, ", ");
  }
  DictionaryAttr schedule;
  double rate = object->number("learning_rate", entry->second.learningRate);
  if (const llvm::json::Object *scheduleJson = object->config.getObject("learning_rate")) {
    auto built = buildSchedule(b, loc, *scheduleJson);
    if (failed(built))
      return failure();
    schedule = *built;
  }
  auto optionalFloat = [&](StringRef key) {
    std::optional<double> value = object->optionalNumber(key);
    return value ? b.getF64FloatAttr(*value) : FloatAttr();
  };
  auto optionalInteger = [&](StringRef key) {
    std::optional<double> value = object->optionalNumber(key);
    return value ? b.getI64IntegerAttr(int64_t(*value)) : IntegerAttr();
  };
  bool average = object->boolean("use_ema", false);
  OptimizerOp::create(
      b, loc, b.getStringAttr(object->string("name", name)), entry->second.build(b, *object),
      b.getF64FloatAttr(rate), schedule, optionalFloat("clipnorm"),
      optionalFloat("global_clipnorm"), optionalFloat("clipvalue"), optionalFloat("weight_decay"),
      average ? b.getF64FloatAttr(object->number("ema_momentum", 0.99)) : FloatAttr(),
      average ? optionalInteger("ema_overwrite_frequency") : IntegerAttr(),
      optionalInteger("gradient_accumulation_steps"), optionalFloat("loss_scale_factor"));
  return success();
}
