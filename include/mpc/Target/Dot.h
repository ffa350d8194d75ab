// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pictures of IR: graphs for Graphviz, and SVG.
#ifndef MPC_TARGET_DOT_H
#define MPC_TARGET_DOT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>

namespace mpc {

/// Prints every function of the module as a cluster: one node per op, colored by the element type
/// of its first result, one edge per use, labelled with the tensor type.
void exportDot(mlir::ModuleOp module, llvm::raw_ostream &os);

/// Prints a node per layer, as Keras's plot_model draws them, with dtypes as colors and casts on
/// edges. Takes IR of the phases import and policy; else fails with an error.
mlir::LogicalResult exportLayersDot(mlir::ModuleOp module, llvm::raw_ostream &os);
/// The same as an SVG, laid out here.
mlir::LogicalResult exportLayersSvg(mlir::ModuleOp module, llvm::raw_ostream &os);

/// Registers `mpc-translate --export-dot`, `--export-dot-layers` and `--export-svg`; `extend` is
/// called with the registry of its context.
void registerExportDot(std::function<void(mlir::DialectRegistry &)> extend);

} // namespace mpc

#endif // MPC_TARGET_DOT_H
