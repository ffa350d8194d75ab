// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From the loss of each sample to the loss of the batch (keras/src/losses/loss.py).
#ifndef MPC_LIB_TRAINING_REDUCELOSS_H
#define MPC_LIB_TRAINING_REDUCELOSS_H

#include "lib/Training/Losses.h"

namespace mpc {

/// Whether the reduction gives a scalar.
bool isReduction(llvm::StringRef name);
std::string reductionNames();

/// The mask without trailing dimensions of 1 that go beyond `rank`
/// (keras/src/losses/loss.py, squeeze_or_expand_to_same_rank); null without a mask and when it has
/// more dimensions than that.
mlir::Value alignMask(Expression &e, mlir::Value mask, int64_t rank);

/// `weights`: float32 [batch]; `mask`: i1, the aligned mask of the output, or null. With a mask,
/// mean-like reductions divide by the number of valid elements, or of all, as the rules say. A
/// loss that has no batch dimension is weighted by the mean of the weights.
mlir::Value reduceLoss(Expression &e, const SampleLoss &loss, mlir::Value weights, mlir::Value mask,
                       llvm::StringRef reduction, const TrainingRules &rules);

} // namespace mpc

#endif // MPC_LIB_TRAINING_REDUCELOSS_H
