// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The properties of a variable that a layer asks for, and who asks.
#ifndef MPC_LIB_IMPORT_KERAS_VARIABLEREQUEST_H
#define MPC_LIB_IMPORT_KERAS_VARIABLEREQUEST_H

#include "dialects/mpc/IR/Mpc.h"
#include "mpc/Import/Keras/Config.h"

#include <memory>

namespace mpc::keras {

struct KernelQuantizer;
struct LowRankMerge;

/// A variable that a layer asks for. The keys name entries of its config; an empty key means none.
struct VariableRequest {
  llvm::StringRef name; ///< "kernel"
  llvm::SmallVector<int64_t> shape;
  llvm::StringRef initializerKey, regularizerKey, constraintKey;
  InitializerAttr initializer = {}; ///< in place of what initializerKey names
  /// For a config without the initializer; empty: glorot_uniform for "kernel", else zeros.
  llvm::StringRef defaultInitializer = {};
  /// Dimensions that count as inputs and outputs of the kernel, for initializers that ask; empty:
  /// those of a Dense or convolution kernel.
  llvm::SmallVector<int64_t> inputAxes = {}, outputAxes = {};
  unsigned firstInFile = 0; ///< datasets before the layer's first that are no variables of its own
  llvm::StringRef nameInFile = {}; ///< of the dataset, where that is no number
  bool trainable = true;           ///< false: no optimizer updates it, whatever the layer says
  bool frozen = false;  ///< the same, of a variable that Keras lists among trainable ones
  bool autocast = true; ///< false: the layer reads it in the dtype that it is stored in
  bool counter = false; ///< an int64, not a floating tensor
  /// The layer keeps it from call to call: every forward pass may renew it, in inference too, and
  /// Keras's files do not hold it.
  bool stateful = false;
  /// Its dtype when that is not the policy's business (`add_weight(dtype=...)`).
  mlir::Type ownType = {};
  /// The training step stores what arrives as its gradient (Keras's overwrite_with_gradient).
  bool overwrite = false;
  /// The file holds floating numbers in place of this integer variable, which this makes of them;
  /// null: it holds the variable itself.
  std::shared_ptr<const KernelQuantizer> quantizer = {};
  /// Keras's files hold the sum of this kernel and the LoRA factors named after it.
  std::shared_ptr<const LowRankMerge> merge = {};
  /// No dataset of the file: the quantizer of another variable of the layer gives the value, or the
  /// initializer.
  bool derived = false;
  /// Made without a name: Keras numbers such variables of a model, "variable", "variable_1", and
  /// so on; `name` tells it from the layer's others.
  bool unnamed = false;
};

/// The layer whose variable it is, or a layer inside its body.
struct VariableOwner {
  const LayerConfig &layer;
  llvm::StringRef path;  ///< containers and layer: "encoder/d0"
  llvm::StringRef scope; ///< goes before the names of variables
  llvm::StringRef group; ///< in the weight file, below that of the layer
  bool trainable;        ///< the layer and all that contains it
  mlir::Location location;
};

} // namespace mpc::keras

#endif
