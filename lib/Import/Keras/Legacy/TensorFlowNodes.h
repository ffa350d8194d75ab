// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls of TensorFlow functions as Keras 2 writes them into Functional models.
#ifndef MPC_LIB_IMPORT_KERAS_LEGACY_TENSORFLOWNODES_H
#define MPC_LIB_IMPORT_KERAS_LEGACY_TENSORFLOWNODES_H

#include "mpc/Import/Keras/Config.h"

namespace mpc::keras {

/// Whether layers of this class record a TensorFlow function: TFOpLambda and SlicingOpLambda
/// (TensorFlow 2.4 to 2.16), TensorFlowOpLayer (1.15 to 2.3).
bool isTensorFlowClass(llvm::StringRef className);

/// One entry of `inbound_nodes` of such a layer; nothing for what is no such entry.
///
/// The first argument stands as [layer, node, tensor, keywords], a constant in its place as
/// ["_CONSTANT_VALUE", -1, value, keywords], or it is a list of them; all other arguments are in
/// the keywords of the first one, where [layer, node, tensor] is a tensor
/// (tf_keras/src/engine/node.py, serialize; functional.py, process_node).
std::optional<Node> parseTensorFlowNode(const llvm::json::Value &entry);

} // namespace mpc::keras

#endif
