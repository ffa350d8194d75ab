// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls of layers as Keras 2 lists them: a structure of [layer, call, tensor, keywords].
#ifndef MPC_LIB_IMPORT_KERAS_LEGACY_NODES_H
#define MPC_LIB_IMPORT_KERAS_LEGACY_NODES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

namespace mpc::keras {

/// Keras 2 counts the calls of a nested model from 1 where its construction was call 0, Keras 3
/// from 0 (but in output_layers also from 1 for a Functional model). `config` is that of a model
/// whose nodes are still in Keras 2's form.
void renumberCalls(llvm::json::Object &config);

/// The calls of a layer as Keras 3 writes them, {"args", "kwargs"}; what has that form already
/// stays. `config` is the layer's. Not for functions of TensorFlow, which TensorFlowNodes.h reads.
llvm::json::Array modernizeNodes(llvm::StringRef className, const llvm::json::Object &config,
                                 const llvm::json::Array &nodes);

/// Keras's own classes of models.
bool isModelClass(llvm::StringRef name);

} // namespace mpc::keras

#endif
