// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The spelling of --loss-scale, for tools that check their command line.
#ifndef MPC_TRAINING_LOSSSCALEOPTION_H
#define MPC_TRAINING_LOSSSCALEOPTION_H

#include "llvm/ADT/StringRef.h"

namespace mpc {

/// `auto`, `none`, `fixed:N` with N > 0, or `dynamic:INITIAL:GROWTH_STEPS[:MIN:MAX]`.
bool isLossScaleOption(llvm::StringRef text);

} // namespace mpc

#endif // MPC_TRAINING_LOSSSCALEOPTION_H
