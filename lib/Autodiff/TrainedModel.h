// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// @forward and @loss as one computation that entries are built from.
#ifndef MPC_LIB_AUTODIFF_TRAINEDMODEL_H
#define MPC_LIB_AUTODIFF_TRAINEDMODEL_H

#include "lib/Autodiff/EntryBuilder.h"

namespace mpc {

enum class Mode { Inference, Training };

/// A value under a name (outputs) or a variable's symbol (updates).
struct NamedValue {
  mlir::Attribute name;
  mlir::Value value;
  bool isStateful = false; ///< of an update: inference makes it, too
};

/// The two functions that mpc-differentiate starts from.
struct TrainedModel {
  mlir::func::FuncOp forward, loss; // `loss` is null for inference

  /// The values that a copy of the computation in an entry yields.
  struct Copy {
    llvm::SmallVector<NamedValue> outputs, updates, metricUpdates;
    mlir::Value loss; // float32 scalar, all terms included; null without @loss

    /// The value that the optimizer updates: the last new value where the forward pass renews a
    /// trainable variable (SpectralNormalization), else the variable.
    mlir::Value trainedValue(EntryBuilder &entry, mlir::FlatSymbolRefAttr symbol) const;
  };

  /// Errors about what the entries could not be built from.
  llvm::LogicalResult verify();
  /// Adds the model's inputs (and targets) to the entry, in order.
  void addArguments(EntryBuilder &entry, bool withTargets);
  /// Emits the computation at the end of the entry. Fails with an error where @loss does not fit
  /// @forward.
  llvm::FailureOr<Copy> emit(EntryBuilder &entry, Mode mode, bool withLoss);
};

} // namespace mpc

#endif // MPC_LIB_AUTODIFF_TRAINEDMODEL_H
