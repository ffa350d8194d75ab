// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The layer that an op came from.
#ifndef MPC_ANALYSIS_LAYERPATH_H
#define MPC_ANALYSIS_LAYERPATH_H

#include "mlir/IR/Location.h"

namespace mpc {

/// The layer path that a location names, wherever fusion or inlining put the name; "" when it names
/// none. Lives as long as the context.
llvm::StringRef layerPathOf(mlir::Location loc);

} // namespace mpc

#endif // MPC_ANALYSIS_LAYERPATH_H
