// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LayerGraph: a model as Keras's plot_model draws it, a box per layer, with the casts between them.
#ifndef MPC_LIB_TARGET_PICTURE_LAYERGRAPH_H
#define MPC_LIB_TARGET_PICTURE_LAYERGRAPH_H

#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace mpc::picture {

struct Box {
  std::string path;               // of the layer; the name of an input
  std::vector<std::string> lines; // name and class, shapes, dtypes; hostile texts
  std::string dtype;              // in which it computes: "bf16"
};

struct Arrow {
  size_t from, to;
  std::string cast; // "f32 → bf16"; empty where nothing is cast
};

struct LayerGraph {
  std::vector<Box> boxes; // in the order of the program
  std::vector<Arrow> arrows;
};

/// Of the module's function with layers, before or after the policies are applied; a copy of it is
/// changed, the module is not. Fails, with an error, where there are no layers any more.
mlir::FailureOr<LayerGraph> readLayerGraph(mlir::ModuleOp module);

/// The fill of a box that computes in `dtype`; "#rrggbb".
const char *fillOf(const std::string &dtype);

/// The model that a layer is in: "a/b" of "a/b/dense"; empty for one that is in none.
std::string groupOf(const std::string &path);

} // namespace mpc::picture

#endif // MPC_LIB_TARGET_PICTURE_LAYERGRAPH_H
