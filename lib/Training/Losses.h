// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of losses.
#ifndef MPC_LIB_TRAINING_LOSSES_H
#define MPC_LIB_TRAINING_LOSSES_H

#include "lib/Training/Expression.h"
#include "lib/Training/KerasObject.h"

namespace mpc {

/// Loss of each sample before the reduction, and which samples count (null: all).
struct SampleLoss {
  mlir::Value values;
  mlir::Value mask;
};

struct LossEntry {
  /// Targets are class indices (int32, one dimension less than the predictions), not values.
  bool sparse;
  /// float32 predictions and targets to the loss of each sample, shape of the predictions without
  /// the last dimension.
  SampleLoss (*build)(Expression &e, const KerasObject &loss, mlir::Value target,
                      mlir::Value prediction);
};

/// Null when the loss is not known. `name` is canonical.
const LossEntry *lookupLoss(llvm::StringRef name);

/// Names of all losses, sorted, for messages.
std::string supportedLosses();

} // namespace mpc

#endif // MPC_LIB_TRAINING_LOSSES_H
