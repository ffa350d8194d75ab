// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of losses.
#ifndef MPC_LIB_TRAINING_LOSSES_H
#define MPC_LIB_TRAINING_LOSSES_H

#include "lib/Training/Expression.h"
#include "lib/Training/KerasObject.h"
#include "mpc/Training/TrainingRules.h"

namespace mpc {

/// Loss of each sample before the reduction, and which samples count (null: all).
struct SampleLoss {
  mlir::Value values;
  mlir::Value mask = {};
  /// False where the batch itself was summed over (Dice over all axes): `values` has no sample left
  /// that a weight could belong to.
  bool hasBatch = true;
};

/// A loss computes from float32 predictions and targets, or from int32 classes as targets.
struct LossInput {
  Expression &e;
  const KerasObject &loss; // its constructor arguments
  mlir::Value target, prediction;
  const TrainingRules &rules;

  int64_t rank() { return tensorTypeOf(prediction).getRank(); }
  /// The config's `axis`, counted from 0; `standard` when it is absent.
  int64_t axis(int64_t standard = -1);
};

/// The kinds of targets.
enum class TargetKind {
  Values,  ///< float32, of the predictions' shape
  Classes, ///< int32, one dimension less: indices into the predictions' last dimension
  Labels   ///< int32, one dimension less: names of groups, any integers
};

struct LossEntry {
  llvm::StringLiteral name; // canonical
  TargetKind target;
  llvm::StringLiteral arguments; // of the class's constructor, beside Loss's own; spaces between
  SampleLoss (*build)(LossInput &input);
  /// Says what is wrong with predictions of this type, or with arguments of this loss alone; ""
  /// when nothing is. Null: nothing can be.
  std::string (*check)(const KerasObject &loss, mlir::RankedTensorType prediction) = nullptr;
  /// The argument that may be several numbers.
  llvm::StringLiteral list = "";
};

/// The families' tables.
llvm::ArrayRef<LossEntry> crossEntropies();
llvm::ArrayRef<LossEntry> regressionLosses();
llvm::ArrayRef<LossEntry> marginLosses();
llvm::ArrayRef<LossEntry> overlapLosses();
llvm::ArrayRef<LossEntry> pairLosses();
llvm::ArrayRef<LossEntry> sequenceLosses();

/// Null when the loss is not known. `name` is canonical.
const LossEntry *lookupLoss(llvm::StringRef name);

/// Says what is wrong with the arguments that Keras checks too, or with a loss that cannot be
/// compiled; "" when nothing is.
std::string checkLoss(const KerasObject &loss, mlir::RankedTensorType prediction);

/// Names of all losses, sorted, for messages.
std::string supportedLosses();

/// keras.config.epsilon()
inline constexpr double kEpsilon = 1e-7;

} // namespace mpc

#endif // MPC_LIB_TRAINING_LOSSES_H
