// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Optimizer configs: BaseOptimizer's options and the LossScaleOptimizer around an optimizer
// (keras/src/optimizers/base_optimizer.py, loss_scale_optimizer.py).
#include "lib/Training/Optimizers.h"
#include "lib/Training/OptimizerRules.h"
#include "lib/Training/Schedules.h"
#include "mpc/Training/TrainingOptions.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace mlir;
using namespace mpc;

static std::string checkKinds(const KerasObject &optimizer) {
  // TensorFlow 2 wrote is_legacy_optimizer and jit_compile.
  return checkArguments(
      optimizer.config,
      {"amsgrad", "centered", "dynamic", "exclude_embeddings", "is_legacy_optimizer", "jit_compile",
       "nesterov", "relative_step", "use_ema"},
      {"exclude_from_weight_decay", "exclude_layers", "inner_optimizer", "learning_rate", "name"});
}

static LogicalResult buildLossScale(OpBuilder &b, Location loc, const KerasObject &scaler) {
  double initial = scaler.number("initial_scale", 32768);
  if (std::string problem = checkKinds(scaler); !problem.empty())
    return emitError(loc) << "LossScaleOptimizer " << problem;
  if (!(float(initial) > 0))
    return emitError(loc) << "LossScaleOptimizer needs an initial_scale > 0, got " << initial;
  // Fixed scales exist in files of TensorFlow 2 only.
  IntegerAttr growthSteps;
  if (scaler.boolean("dynamic", true)) {
    std::optional<int64_t> steps = scaler.optionalInteger("dynamic_growth_steps");
    if (!steps && scaler.optionalNumber("dynamic_growth_steps"))
      return emitError(loc) << "LossScaleOptimizer needs a whole dynamic_growth_steps";
    growthSteps = b.getI64IntegerAttr(steps.value_or(2000));
  }
  LossScaleOp::create(b, loc, b.getF64FloatAttr(initial), growthSteps, FloatAttr(), FloatAttr());
  return success();
}

static bool isWhole(double value) { return value == std::trunc(value) && value <= INT32_MAX; }

/// Says what BaseOptimizer's constructor refuses, and which numbers would make the first step NaN:
/// Keras trains with them.
static std::string checkOptions(const KerasObject &optimizer, OptimizerFamily family) {
  if (std::string problem = checkKinds(optimizer); !problem.empty())
    return problem;
  if (const llvm::json::Value *rate = optimizer.config.get("learning_rate");
      rate && !rate->getAsNumber() && !rate->getAsObject())
    return "needs a number or a schedule as learning_rate";
  if (optimizer.number("loss_scale_factor", 1) <= 0)
    return "needs loss_scale_factor > 0";
  int clips = 0;
  for (StringRef key : {"clipnorm", "global_clipnorm", "clipvalue"})
    clips += optimizer.optionalNumber(key).has_value();
  if (clips > 1 && family == OptimizerFamily::Keras3)
    return "has more than one of clipnorm, clipvalue and global_clipnorm";
  if (double steps = optimizer.number("gradient_accumulation_steps", 0);
      steps != 0 && (steps < 2 || !isWhole(steps)))
    return "needs gradient_accumulation_steps >= 2";
  if (!optimizer.boolean("use_ema", false))
    return "";
  if (double momentum = optimizer.number("ema_momentum", 0.99); !(momentum >= 0 && momentum <= 1))
    return "needs ema_momentum in [0, 1]";
  if (double frequency = optimizer.number("ema_overwrite_frequency", 1);
      frequency != 0 && (frequency < 1 || !isWhole(frequency)))
    return "needs a whole ema_overwrite_frequency >= 1";
  return "";
}

/// Variables that `exclude_from_weight_decay` names. Keras's own configs do not carry it; in one
/// that does it is a list of patterns for names, the last parts of paths.
static ArrayAttr excludedFromDecay(RuleInput &in) {
  const llvm::json::Array *patterns = in.optimizer.config.getArray("exclude_from_weight_decay");
  if (!patterns)
    return ArrayAttr();
  SmallVector<Attribute> symbols;
  for (VariableOp variable : in.module.getOps<VariableOp>()) {
    StringRef path = variable.getSymName(), name = path.substr(path.rfind('/') + 1);
    if (variable.getRole() == VariableRole::Trainable &&
        llvm::any_of(*patterns, [&](const llvm::json::Value &pattern) {
          return searches(pattern.getAsString().value_or(""), name, in.problem);
        }))
      symbols.push_back(FlatSymbolRefAttr::get(variable.getSymNameAttr()));
  }
  return symbols.empty() ? ArrayAttr() : in.builder.getArrayAttr(symbols);
}

/// The limits of gradients that an optimizer has.
struct Clips {
  FloatAttr norm, globalNorm, value;
};

/// Keras 2.11 to 2.16 follow the first limit in this order; older optimizers follow all; those
/// before TensorFlow 2 take the norm of all gradients where later ones take that of each.
static Clips findClips(OpBuilder &b, const KerasObject &object, OptimizerFamily family) {
  auto limit = [&](StringRef key) {
    std::optional<double> value = object.optionalNumber(key);
    return value && (family == OptimizerFamily::Keras3 || *value > 0) ? b.getF64FloatAttr(*value)
                                                                      : FloatAttr();
  };
  Clips clips{limit("clipnorm"), limit("global_clipnorm"), limit("clipvalue")};
  if (family == OptimizerFamily::Keras2) {
    if (clips.norm)
      clips.globalNorm = {};
    if (clips.norm || clips.globalNorm)
      clips.value = {};
  }
  if (family == OptimizerFamily::BeforeTensorFlow2)
    std::swap(clips.norm, clips.globalNorm);
  return clips;
}

static RowGradients findRows(OptimizerFamily family) {
  switch (family) {
  case OptimizerFamily::Keras3:
    return RowGradients::Each;
  case OptimizerFamily::Keras2:
    return RowGradients::Summed;
  case OptimizerFamily::OptimizerV2:
    return RowGradients::Touched;
  case OptimizerFamily::BeforeTensorFlow2:
    return RowGradients::Dense;
  }
  llvm_unreachable("no other family");
}

static LogicalResult build(OpBuilder &b, Location loc, ModuleOp module, const RuleEntry &entry,
                           const KerasObject &object, OptimizerFamily family) {
  DictionaryAttr schedule;
  double rate = object.number("learning_rate", entry.learningRate);
  if (const llvm::json::Object *scheduleJson = object.config.getObject("learning_rate")) {
    auto built = buildSchedule(b, loc, *scheduleJson);
    if (failed(built))
      return failure();
    schedule = *built;
  }
  auto optionalFloat = [&](StringRef key) {
    std::optional<double> value = object.optionalNumber(key);
    return value ? b.getF64FloatAttr(*value) : FloatAttr();
  };
  auto optionalInteger = [&](StringRef key) {
    std::optional<double> value = object.optionalNumber(key);
    return value && *value != 0 ? b.getI64IntegerAttr(int64_t(*value)) : IntegerAttr();
  };
  RuleInput input{b, module, object, family, checkOptions(object, family)};
  auto rule = entry.build(input);
  FloatAttr decay = optionalFloat("weight_decay");
  if (!decay && entry.weightDecay && !object.isNull("weight_decay"))
    decay = b.getF64FloatAttr(*entry.weightDecay);
  if (!decay && entry.className == "AdamW")
    input.problem = "needs a number as weight_decay";
  ArrayAttr undecayed = excludedFromDecay(input);
  // These arguments are Keras 2's, or mean something with other arguments only.
  if (std::string unknown =
          object.listUnasked({"decay", "ema_momentum", "ema_overwrite_frequency",
                              "exclude_embeddings", "exclude_from_weight_decay", "exclude_layers",
                              "is_legacy_optimizer", "jit_compile", "name", "relative_step"});
      !unknown.empty() && input.problem.empty())
    input.problem = "has no argument " + unknown;
  if (!input.problem.empty())
    return emitError(loc) << "optimizer '" << object.identifier << "' " << input.problem;
  const bool average = object.boolean("use_ema", false),
             isKeras3 = family == OptimizerFamily::Keras3;
  const Clips clips = findClips(b, object, family);
  // Keras 3 ignores it, and Nadam means something else by it.
  const double rateDecay =
      input.isOld() && entry.className != "Nadam" ? object.number("decay", 0) : 0;
  if (rateDecay < 0)
    return emitError(loc) << "optimizer '" << object.identifier << "' needs decay >= 0";
  // Keras names an optimizer that has no name after its class.
  std::string name = snakeCase(entry.className);
  OptimizerOp::create(
      b, loc, b.getStringAttr(object.string("name", name)), rule, b.getF64FloatAttr(rate), schedule,
      clips.norm, clips.globalNorm, clips.value, decay, undecayed,
      average ? b.getF64FloatAttr(object.number("ema_momentum", 0.99)) : FloatAttr(),
      average ? optionalInteger("ema_overwrite_frequency") : IntegerAttr(),
      optionalInteger("gradient_accumulation_steps"), optionalFloat("loss_scale_factor"),
      rateDecay > 0 ? b.getF64FloatAttr(rateDecay) : FloatAttr(),
      isKeras3 ? RowGradientsAttr() : RowGradientsAttr::get(b.getContext(), findRows(family)),
      average && !isKeras3 ? b.getUnitAttr() : UnitAttr());
  return success();
}

std::optional<double> mpc::parseLearningRate(StringRef text) {
  double rate = 0;
  if (text.getAsDouble(rate) || !std::isfinite(float(rate)))
    return std::nullopt;
  return rate;
}

StringRef mpc::optimizerClassName(StringRef name) {
  const RuleEntry *entry = lookupRule(name);
  return entry ? StringRef(entry->className) : name;
}

static LogicalResult build(OpBuilder &b, Location loc, ModuleOp module,
                           const llvm::json::Value &json, OptimizerFamily family) {
  std::optional<KerasObject> object = KerasObject::parse(json);
  if (!object)
    return emitError(loc) << "optimizer must be a name or a serialised object";
  if (isOptimizerName(object->identifier, "LossScaleOptimizer")) {
    const llvm::json::Value *inner = object->config.get("inner_optimizer");
    if (!inner)
      return emitError(loc) << "LossScaleOptimizer has no inner_optimizer";
    if (const llvm::json::Object *nested = inner->getAsObject();
        nested && nested->getString("class_name") == "LossScaleOptimizer")
      return emitError(loc) << "LossScaleOptimizer around a LossScaleOptimizer";
    return failure(failed(buildLossScale(b, loc, *object)) ||
                   failed(build(b, loc, module, *inner, family)));
  }
  if (const RuleEntry *entry = lookupRule(object->identifier))
    return build(b, loc, module, *entry, *object, family);
  auto names = llvm::map_to_vector(optimizerRules(),
                                   [](const RuleEntry &entry) { return entry.className.lower(); });
  return emitError(loc) << "optimizer '" << object->identifier << "' is not supported; use one of "
                        << llvm::join(names, ", ")
                        << "; --optimizer names another one than the file's";
}

LogicalResult mpc::buildOptimizer(OpBuilder &b, ModuleOp module, const CompileConfig &config) {
  Location loc = NameLoc::get(b.getStringAttr("optimizer"));
  if (!config.optimizerPlace.empty())
    loc = FileLineColLoc::get(b.getContext(), config.optimizerPlace, 0, 0);
  return build(b, loc, module, config.optimizer, config.rules.optimizers);
}
