// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Update rules of Keras's optimizers as attributes.
#ifndef MPC_LIB_TRAINING_OPTIMIZERRULES_H
#define MPC_LIB_TRAINING_OPTIMIZERRULES_H

#include "dialects/mpc/IR/Mpc.h"
#include "lib/Training/KerasObject.h"
#include "mpc/Training/TrainingRules.h"

namespace mpc {

struct RuleInput {
  mlir::Builder &builder;
  mlir::ModuleOp module; // whose variables the optimizer will update
  const KerasObject &optimizer;
  OptimizerFamily family;
  std::string problem; // what is wrong with the arguments; "" when nothing is

  mlir::FloatAttr number(llvm::StringRef key, double otherwise) {
    return builder.getF64FloatAttr(optimizer.number(key, otherwise));
  }
  /// The optimizer is one of tf.keras up to 2.10, or of Keras before it was TensorFlow's.
  bool isOld() const {
    return family == OptimizerFamily::OptimizerV2 || family == OptimizerFamily::BeforeTensorFlow2;
  }
};

struct RuleEntry {
  llvm::StringLiteral className; // Keras's
  double learningRate;           // Keras's defaults
  std::optional<double> weightDecay;
  OptimizerRuleAttrInterface (*build)(RuleInput &input);
};

/// All rules, sorted by name.
llvm::ArrayRef<RuleEntry> optimizerRules();

/// The rule of a class, by its name in any spelling that isOptimizerName knows; null: there is
/// none.
const RuleEntry *lookupRule(llvm::StringRef name);

/// Whether that is the class, in any case, as Keras takes it, and with or without underscores.
bool isOptimizerName(llvm::StringRef name, llvm::StringRef className);

/// Whether Python's `re.search(pattern, text)` finds something; a malformed pattern is a problem.
bool searches(llvm::StringRef pattern, llvm::StringRef text, std::string &problem);

} // namespace mpc

#endif // MPC_LIB_TRAINING_OPTIMIZERRULES_H
