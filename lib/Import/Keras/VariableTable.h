// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The variables of the model: what layers ask for, found again by later calls, and in the end in
// Keras's order under Keras's paths.
#ifndef MPC_LIB_IMPORT_KERAS_VARIABLETABLE_H
#define MPC_LIB_IMPORT_KERAS_VARIABLETABLE_H

#include "lib/Import/Keras/ForwardFunction.h"
#include "lib/Import/Keras/LayerTree.h"
#include "lib/Import/Keras/Quantization/KernelQuantizer.h"
#include "lib/Import/Keras/VariableRequest.h"

namespace mpc::keras {

/// A variable of the model, once for all calls of its layer.
struct ModelVariable {
  /// The value that the next call reads.
  mlir::Value getCurrent() const {
    return updates.empty() ? mlir::Value(argument) : updates.back();
  }

  const LayerConfig *layer = nullptr;
  std::string layerPath; ///< containers and layer: "encoder/d0"
  std::string name;      ///< "kernel"
  std::string path;      ///< Keras's variable path, unique in the model: "d0/kernel"
  std::string dataset;   ///< in model.weights.h5: "layers/functional/layers/dense/vars/0"
  std::string copy;      ///< the dataset that holds the value once more; "" for none
  mlir::RankedTensorType type;
  mlir::Type ownType; ///< floating: what it is stored in, whatever the policy; else null
  bool trainable = true, autocast = true;
  bool mayTrain = true;     ///< an optimizer could update it, were the layer not frozen
  bool ownTrainable = true; ///< what Keras's variable says; false for those of frozen layers
  /// Its place among the layer's variables: Keras lists what it made as trainable first; before all
  /// what float8 needs, and the kernel that a wrapper renews with what it renews it from.
  unsigned group = 1;
  unsigned made = 0;      ///< how many of the layer's were made before it
  bool stateful = false;  ///< VariableRequest::stateful
  bool overwrite = false; ///< VariableRequest::overwrite
  bool derived = false;   ///< VariableRequest::derived
  bool unnamed = false;   ///< VariableRequest::unnamed
  /// VariableRequest::quantizer, and the paths of the variables that it gives values, too.
  std::shared_ptr<const KernelQuantizer> quantizer;
  std::string scalePath, zeroPath, groupsPath;
  std::shared_ptr<const LowRankMerge> merge; ///< VariableRequest::merge, and the factors' paths
  std::string firstFactorPath, secondFactorPath;
  /// The new values that calls gave it, one after the other: results of mpc.layer ops, and of scans
  /// that carry them.
  llvm::SmallVector<mlir::Value, 1> updates;
  InitializerAttr initializer;
  RegularizerAttr regularizer;
  ConstraintAttr constraint;
  mlir::BlockArgument argument; ///< of @forward
};

class VariableTable {
public:
  /// `modelIsTrainable`: false: no variable is, whatever layers say.
  VariableTable(const LayerTree &tree, ForwardFunction &forward, ImportReport &report,
                bool modelIsTrainable)
      : tree(tree), forward(forward), report(report), modelIsTrainable(modelIsTrainable) {}

  /// As they were made; in Keras's order (Model.variables) after finish.
  llvm::ArrayRef<ModelVariable> getAll() const { return variables; }
  llvm::MutableArrayRef<ModelVariable> getAll() { return variables; }

  /// The value that the next call reads of the variable, which is made on the first call; null
  /// after an error.
  mlir::Value getValue(const VariableOwner &owner, const VariableRequest &request);
  /// The same of a variable that the layer may have; null when it has no such variable.
  mlir::Value findValue(const LayerConfig &layer, llvm::StringRef name) const;
  /// The value that later calls read for `current` (a variable's argument, or its last update), and
  /// that the forward pass stores.
  void setUpdate(mlir::Value current, mlir::Value update);
  /// Keras lists the variable with the value `current` as the first one of `wrapper`, too.
  void listFirst(mlir::Value current, const LayerConfig &wrapper);
  /// Whether `current` is the value of a variable that inference renews, too.
  bool isStateful(mlir::Value current) const;

  /// Puts the variables into Keras's order and gives them their paths.
  void finish();
  /// Their mpc.variable ops.
  void declare(mlir::OpBuilder &builder) const;

private:
  ModelVariable make(const VariableOwner &owner, const VariableRequest &request,
                     mlir::RankedTensorType type) const;
  std::string placeInFile(const VariableOwner &owner, const VariableRequest &request) const;
  void sort();
  void name();
  void nameParts(ModelVariable &kernel);

  const LayerTree &tree;
  ForwardFunction &forward;
  ImportReport &report;
  const bool modelIsTrainable;
  std::vector<ModelVariable> variables;
  llvm::DenseMap<const LayerConfig *, llvm::SmallVector<unsigned, 2>> variablesOf;
};

} // namespace mpc::keras

#endif
