// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The work of a layer in a step, as far as its policy changes what it costs.
#ifndef MPC_NUMERICS_SEARCH_LAYERWORK_H
#define MPC_NUMERICS_SEARCH_LAYERWORK_H

#include "mlir/IR/BuiltinOps.h"
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace mpc {

/// One layer, all of its calls together. Numbers are of one forward run of a batch.
struct LayerWork {
  struct Input {
    std::optional<size_t> source; ///< the layer that makes it; none: an input of the model
    double elements = 0;
    /// Whether the layer reads it, or only passes it on (Flatten): then conversions alone cost.
    bool isRead = true;
  };
  std::string path, kind;
  /// Whether a policy decides in which dtype it computes; inputs of a model have one of their own.
  bool isDecided = true;
  double products = 0; ///< multiply-adds
  double weights = 0;  ///< floating elements of its variables
  double inner = 0;    ///< results of products that do not leave the layer
  double outputs = 0;  ///< floating elements
  std::vector<Input> inputs;
  std::set<std::string> refused;        ///< compute dtypes ("bf16") that it does not compile for
  std::set<std::string> quantizedForms; ///< modes ("int8") that its weights can be quantized in
};

/// The layers of IR of the phase import or policy, in the order of their first calls. An open batch
/// counts as `batch` samples.
std::vector<LayerWork> collectWork(mlir::ModuleOp module, int64_t batch);

} // namespace mpc

#endif // MPC_NUMERICS_SEARCH_LAYERWORK_H
