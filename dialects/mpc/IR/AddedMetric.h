// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The name of what a model reports beside its compiled metrics.
#ifndef MPC_DIALECTS_MPC_IR_ADDEDMETRIC_H
#define MPC_DIALECTS_MPC_IR_ADDEDMETRIC_H

#include "llvm/ADT/StringRef.h"

namespace mpc {

/// Result of @forward: float32 values whose mean training and evaluation report under this name
/// (model.add_metric of Keras 2). No output of the library.
inline constexpr llvm::StringLiteral kAddedMetricAttr = "mpc.added_metric";

} // namespace mpc

#endif
