// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which initializers hold weights, by the nodes that read them, also inside of loops and branches.
#ifndef MPC_LIB_IMPORT_ONNX_WEIGHTS_H
#define MPC_LIB_IMPORT_ONNX_WEIGHTS_H

#include "mpc/Import/ONNX/Model.h"

#include "llvm/ADT/StringSet.h"

namespace mpc::onnx {

/// Names of initializers.
struct Weights {
  llvm::StringSet<> trained;
  llvm::StringSet<> kept; ///< normalisations read them as they are stored
};

Weights findWeights(const Graph &graph);

} // namespace mpc::onnx

#endif
