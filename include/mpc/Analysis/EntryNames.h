// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names by which passes find entries, and what these take and give.
#ifndef MPC_ANALYSIS_ENTRYNAMES_H
#define MPC_ANALYSIS_ENTRYNAMES_H

#include "llvm/ADT/StringRef.h"

namespace mpc {

inline constexpr llvm::StringLiteral kTrainStep = "train_step";
/// The training step in the stages of a custom loop.
inline constexpr llvm::StringLiteral kForwardStage = "train_forward";
inline constexpr llvm::StringLiteral kBackwardStage = "train_backward";
inline constexpr llvm::StringLiteral kApplyStage = "train_apply";
inline bool isTrainStage(llvm::StringRef entry) {
  return entry == kForwardStage || entry == kBackwardStage || entry == kApplyStage;
}
/// With a dynamic loss scale: whether the step counts. An output of the step, an input of the last
/// stage.
inline constexpr llvm::StringLiteral kFinite = "finite";

} // namespace mpc

#endif // MPC_ANALYSIS_ENTRYNAMES_H
