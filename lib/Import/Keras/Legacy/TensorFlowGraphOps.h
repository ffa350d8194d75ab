// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layers TensorFlowOpLayer of Keras 2.2 to 2.3, which hold a node of TensorFlow's graph.
#ifndef MPC_LIB_IMPORT_KERAS_LEGACY_TENSORFLOWGRAPHOPS_H
#define MPC_LIB_IMPORT_KERAS_LEGACY_TENSORFLOWGRAPHOPS_H

#include "mpc/Import/Keras/Config.h"

namespace mpc::keras {

/// The operation's name; empty where the config holds none.
std::string nameOfGraphOperation(const LayerConfig &layer);
/// The function of TensorFlow's API that computes it; empty for an operation that is not supported.
llvm::StringRef functionOfGraphOperation(llvm::StringRef operation);
/// The call of that function: inputs and constants (config `constants`) in the operation's order,
/// then attributes, by the function's parameters. Nothing, and `why`, for a node that is damaged.
std::optional<Node> callOfGraphOperation(const LayerConfig &layer, const Node &node,
                                         std::string &why);

} // namespace mpc::keras

#endif
