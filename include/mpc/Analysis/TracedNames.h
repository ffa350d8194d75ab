// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The names under which entries report their values (docs/numerics-tools.md).
#ifndef MPC_ANALYSIS_TRACEDNAMES_H
#define MPC_ANALYSIS_TRACEDNAMES_H

#include "dialects/mpc/IR/Mpc.h"
#include "mpc/Analysis/LayerPath.h"

namespace mpc {

/// Locations of backward code have it behind the layer's path.
inline constexpr llvm::StringLiteral kGradientSuffix = "/gradient";

inline bool isBackward(mlir::Location loc) { return layerPathOf(loc).ends_with(kGradientSuffix); }

/// The layer of code, forward or backward; "" where it is of none.
inline llvm::StringRef tracedLayerOf(mlir::Location loc) {
  llvm::StringRef path = layerPathOf(loc);
  path.consume_back(kGradientSuffix);
  return path;
}

/// "dense" of "dense/kernel".
inline llvm::StringRef tracedLayerOf(VariableOp variable) {
  return variable.getLayer() ? *variable.getLayer() : variable.getSymName().rsplit('/').first;
}

/// "kernel" of it.
inline llvm::StringRef tracedNameOf(VariableOp variable) {
  auto [path, name] = variable.getSymName().rsplit('/');
  return name.empty() ? path : name;
}

} // namespace mpc

#endif // MPC_ANALYSIS_TRACEDNAMES_H
