// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names of attributes that say what several ranks share of an update.
#ifndef MPC_DIALECTS_MPC_IR_SHARDING_H
#define MPC_DIALECTS_MPC_IR_SHARDING_H

#include "llvm/ADT/StringRef.h"

namespace mpc {

/// mpc.variable (a unit): on several ranks each updates a part of it.
inline constexpr llvm::StringLiteral kShardedAttr = "mpc.sharded";
/// mpc.all_reduce (a unit): what comes of the sum, updates of variables or results of
/// @train_backward, goes element by element, but for tests whether numbers are finite. A rank that
/// updates a part of a variable needs that part of the sum alone.
inline constexpr llvm::StringLiteral kByElementsAttr = "mpc.by_elements";
/// mpc.all_reduce (a unit): a rank that has no samples takes part like the others.
inline constexpr llvm::StringLiteral kAlwaysAttr = "mpc.always";

} // namespace mpc

#endif // MPC_DIALECTS_MPC_IR_SHARDING_H
