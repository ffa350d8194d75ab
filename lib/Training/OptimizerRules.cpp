// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of optimizers: constructor arguments to rule attributes (keras/src/optimizers/*.py).
#include "lib/Training/OptimizerRules.h"
#include "mpc/Policy/PathPattern.h"

using namespace mlir;
using namespace mpc;

bool mpc::searches(StringRef pattern, StringRef text, std::string &problem) {
  llvm::Expected<bool> found =
      PathPattern(("(?s:.*)(?:" + pattern + ")(?s:.*)").str()).fullMatch(text);
  if (found)
    return *found;
  problem = "pattern '" + pattern.str() + "': " + llvm::toString(found.takeError());
  return false;
}

static OptimizerRuleAttrInterface buildSGD(RuleInput &in) {
  if (double momentum = in.optimizer.number("momentum", 0); !(momentum >= 0 && momentum <= 1))
    in.problem = "needs momentum in [0, 1]";
  return SGDAttr::get(in.builder.getContext(), in.number("momentum", 0),
                      in.optimizer.boolean("nesterov", false));
}

static OptimizerRuleAttrInterface buildRMSprop(RuleInput &in) {
  // TensorFlow's kernel of OptimizerV2, for what has momentum, adds it below the root.
  const bool isBeside = in.isOld() && in.optimizer.number("momentum", 0) == 0;
  return RMSpropAttr::get(in.builder.getContext(), in.number("rho", 0.9), in.number("momentum", 0),
                          in.number("epsilon", 1e-7), in.optimizer.boolean("centered", false),
                          isBeside);
}

static OptimizerRuleAttrInterface buildAdam(RuleInput &in) {
  return AdamAttr::get(in.builder.getContext(), in.number("beta_1", 0.9),
                       in.number("beta_2", 0.999), in.number("epsilon", 1e-7),
                       in.optimizer.boolean("amsgrad", false), FloatAttr());
}

static OptimizerRuleAttrInterface buildAdagrad(RuleInput &in) {
  const double start = in.family == OptimizerFamily::BeforeTensorFlow2 ? 0 : 0.1;
  return AdagradAttr::get(in.builder.getContext(), in.number("initial_accumulator_value", start),
                          in.number("epsilon", 1e-7), /*epsilonBesideRoot=*/in.isOld());
}

static OptimizerRuleAttrInterface buildAdadelta(RuleInput &in) {
  return AdadeltaAttr::get(in.builder.getContext(), in.number("rho", 0.95),
                           in.number("epsilon", 1e-7));
}

static OptimizerRuleAttrInterface buildNadam(RuleInput &in) {
  // `decay` of old ones is the schedule's, and Keras 3 ignores it.
  FloatAttr scheduleDecay = in.isOld() ? in.number("decay", 0.004) : FloatAttr();
  return NadamAttr::get(in.builder.getContext(), in.number("beta_1", 0.9),
                        in.number("beta_2", 0.999), in.number("epsilon", 1e-7), scheduleDecay,
                        /*productPerVariable=*/in.family == OptimizerFamily::Keras2);
}

/// Adamax and Lamb take the same arguments.
template <typename RuleAttr> static OptimizerRuleAttrInterface buildMoments(RuleInput &in) {
  return RuleAttr::get(in.builder.getContext(), in.number("beta_1", 0.9),
                       in.number("beta_2", 0.999), in.number("epsilon", 1e-7));
}

static OptimizerRuleAttrInterface buildLion(RuleInput &in) {
  if (double beta = in.optimizer.number("beta_1", 0.9); !(beta > 0 && beta <= 1))
    in.problem = "needs 0 < beta_1 <= 1";
  return LionAttr::get(in.builder.getContext(), in.number("beta_1", 0.9),
                       in.number("beta_2", 0.99));
}

static OptimizerRuleAttrInterface buildFtrl(RuleInput &in) {
  for (StringRef key : {"initial_accumulator_value", "l1_regularization_strength",
                        "l2_regularization_strength", "l2_shrinkage_regularization_strength"})
    if (!(in.optimizer.number(key, 0) >= 0))
      in.problem = "needs " + key.str() + " >= 0";
  if (!(in.optimizer.number("learning_rate_power", -0.5) <= 0))
    in.problem = "needs learning_rate_power <= 0";
  return FtrlAttr::get(in.builder.getContext(), in.number("learning_rate_power", -0.5),
                       in.number("initial_accumulator_value", 0.1),
                       in.number("l1_regularization_strength", 0),
                       in.number("l2_regularization_strength", 0),
                       in.number("l2_shrinkage_regularization_strength", 0), in.number("beta", 0));
}

static OptimizerRuleAttrInterface buildAdafactor(RuleInput &in) {
  return AdafactorAttr::get(in.builder.getContext(), in.number("beta_2_decay", -0.8),
                            in.number("epsilon_1", 1e-30), in.number("epsilon_2", 1e-3),
                            in.number("clip_threshold", 1));
}

/// The matrices that Muon leaves to Adam, by path.
static ArrayAttr muonExclusions(RuleInput &in) {
  SmallVector<std::string> patterns;
  if (const llvm::json::Array *layers = in.optimizer.config.getArray("exclude_layers"))
    for (const llvm::json::Value &layer : *layers)
      patterns.push_back(layer.getAsString().value_or("").str());
  bool embeddings = in.optimizer.boolean("exclude_embeddings", true);
  SmallVector<Attribute> paths;
  for (VariableOp variable : in.module.getOps<VariableOp>()) {
    StringRef path = variable.getSymName();
    auto type = dyn_cast<RankedTensorType>(variable.getType());
    if (variable.getRole() != VariableRole::Trainable || !type || type.getRank() != 2)
      continue;
    bool excluded = embeddings && StringRef(path.lower()).contains("embedding");
    for (const std::string &pattern : patterns)
      excluded = excluded || searches(pattern, path, in.problem);
    if (excluded)
      paths.push_back(in.builder.getStringAttr(path));
  }
  return paths.empty() ? ArrayAttr() : in.builder.getArrayAttr(paths);
}

static OptimizerRuleAttrInterface buildMuon(RuleInput &in) {
  auto optional = [&](StringRef key, double otherwise) {
    return in.optimizer.isNull(key) ? FloatAttr() : in.number(key, otherwise);
  };
  int64_t steps = in.optimizer.optionalInteger("ns_steps").value_or(5);
  if (steps < 0 || steps > 100)
    in.problem = "needs 0 <= ns_steps <= 100";
  double ratio = in.optimizer.number("adam_lr_ratio", 1);
  auto adam = AdamAttr::get(in.builder.getContext(), in.number("adam_beta_1", 0.9),
                            in.number("adam_beta_2", 0.999), in.number("epsilon", 1e-7),
                            /*amsgrad=*/false,
                            ratio == 1 ? FloatAttr() : in.builder.getF64FloatAttr(ratio));
  return MuonAttr::get(
      in.builder.getContext(), in.number("momentum", 0.95), in.optimizer.boolean("nesterov", true),
      steps, in.number("muon_a", 3.4445), in.number("muon_b", -4.775), in.number("muon_c", 2.0315),
      optional("rms_rate", 0.2), adam, optional("adam_weight_decay", 0.004), muonExclusions(in));
}

static OptimizerRuleAttrInterface buildScheduleFreeAdamW(RuleInput &in) {
  if (!(in.optimizer.number("beta_1", 0.9) > 0))
    in.problem = "needs beta_1 > 0, by which it divides";
  return ScheduleFreeAdamWAttr::get(in.builder.getContext(), in.number("beta_1", 0.9),
                                    in.number("beta_2", 0.999), in.number("epsilon", 1e-8),
                                    in.number("warmup_steps", 0));
}

ArrayRef<RuleEntry> mpc::optimizerRules() {
  static const RuleEntry table[] = {
      {"Adadelta", 0.001, std::nullopt, buildAdadelta},
      {"Adafactor", 0.001, std::nullopt, buildAdafactor},
      {"Adagrad", 0.001, std::nullopt, buildAdagrad},
      {"Adam", 0.001, std::nullopt, buildAdam},
      {"Adamax", 0.001, std::nullopt, buildMoments<AdamaxAttr>},
      {"AdamW", 0.001, 0.004, buildAdam},
      {"Ftrl", 0.001, std::nullopt, buildFtrl},
      {"Lamb", 0.001, std::nullopt, buildMoments<LambAttr>},
      {"Lion", 0.001, std::nullopt, buildLion},
      {"Muon", 0.001, 0.004, buildMuon},
      {"Nadam", 0.001, std::nullopt, buildNadam},
      {"RMSprop", 0.001, std::nullopt, buildRMSprop},
      {"ScheduleFreeAdamW", 0.0025, std::nullopt, buildScheduleFreeAdamW},
      {"SGD", 0.01, std::nullopt, buildSGD},
  };
  return table;
}

bool mpc::isOptimizerName(StringRef name, StringRef className) {
  std::string bare;
  llvm::copy_if(name, std::back_inserter(bare), [](char c) { return c != '_'; });
  return className.equals_insensitive(bare);
}

const RuleEntry *mpc::lookupRule(StringRef name) {
  const auto *entry = llvm::find_if(optimizerRules(), [&](const RuleEntry &rule) {
    return isOptimizerName(name, rule.className);
  });
  return entry == optimizerRules().end() ? nullptr : entry;
}
