// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Builds @forward of a model: walks the layers' calls in dependency order and gives each an
// mpc.layer. What is known of the layers, of their policies and variables, and of @forward are
// nouns of their own, which layers ask as they need them.
#ifndef MPC_LIB_IMPORT_KERAS_GRAPHIMPORTER_H
#define MPC_LIB_IMPORT_KERAS_GRAPHIMPORTER_H

#include "lib/Import/Keras/CallMode.h"
#include "lib/Import/Keras/ForwardFunction.h"
#include "lib/Import/Keras/LayerBuilder.h"
#include "lib/Import/Keras/LayerPolicies.h"
#include "lib/Import/Keras/LayerTree.h"
#include "lib/Import/Keras/ModelInputs.h"
#include "lib/Import/Keras/UnsupportedLayers.h"
#include "lib/Import/Keras/VariableTable.h"

namespace mpc::keras {

class CompositeBuilder;

class GraphImporter {
public:
  using Values = llvm::SmallVector<mlir::Value>;

  /// `vocabularies`: Archive::vocabularies.
  GraphImporter(mlir::MLIRContext &context, const ModelConfig &model, llvm::StringRef fileName,
                const ImportOptions &options,
                const std::map<std::string, std::string> &vocabularies);

  /// The module, or null when errors were reported.
  mlir::OwningOpRef<mlir::ModuleOp> run();

  // These return whether there are outputs. With a complaint and outputs of the right shapes import
  // goes on, so that it finds what is wrong behind.

  /// The call of a layer or model. `node` says how the inputs are the arguments; null: they are the
  /// first one.
  bool importCall(const LayerConfig &layer, const Node *node, llvm::StringRef path, bool trainable,
                  llvm::ArrayRef<mlir::Value> inputs, Values &outputs);
  /// The call of a layer that is no model (importCall's part): one mpc.layer, unless the class says
  /// otherwise. Wrappers call it for layers inside them.
  bool importLayer(const LayerConfig &layer, const Node *node, llvm::StringRef path, bool trainable,
                   llvm::ArrayRef<mlir::Value> inputs, Values &outputs);
  /// A node that keras.ops recorded: plain ops of @forward, no layer.
  bool importOperation(const LayerConfig &layer, const Node &node, llvm::StringRef path,
                       llvm::ArrayRef<mlir::Value> tensors, Values &outputs);
  /// The call of a layer or model on every step of `sequences`, as a scan in @forward.
  bool importStepwise(const LayerConfig &layer, const Node *node, llvm::StringRef path,
                      bool trainable, llvm::ArrayRef<mlir::Value> sequences, Values &outputs);
  /// Steps over `scanned` (dimension 1) as a scan in @forward; null after an error. `step` imports
  /// one: from what the builder carries and reads to the `next` values of `inits` and to what is
  /// `stacked`, which are the first results. `isRandom`: random ops take other numbers in every
  /// step.
  ScanOp
  importScan(llvm::StringRef path, llvm::ArrayRef<mlir::Value> inits,
             llvm::ArrayRef<mlir::Value> scanned, bool reverse, bool isRandom,
             llvm::function_ref<bool(ScanBuilder &scan, Values &next, Values &stacked)> step);
  /// One mpc.layer whose body `import` emits.
  bool emitLayer(const LayerConfig &layer, const Node *node, llvm::StringRef path, bool trainable,
                 llvm::ArrayRef<mlir::Value> inputs, Values &outputs,
                 llvm::function_ref<mlir::Value(LayerBuilder &)> import, bool passesMasksOn);

  /// The layer at `path` has no training here: an error where a call of Keras 2 asks for it always.
  void noteInferenceOnly(llvm::StringRef path, llvm::StringRef what);

  ImportReport report;
  LayerTree tree;
  LayerPolicies policies;
  ForwardFunction forward;
  VariableTable variables;
  ModelInputs modelInputs;
  CallMode mode = CallMode::OfModel; ///< of the call that is imported

private:
  bool importModel(const ModelConfig &model, llvm::StringRef path, bool trainable,
                   llvm::ArrayRef<mlir::Value> inputs, Values &outputs);
  bool importFunctional(const ModelConfig &model, llvm::StringRef path, bool trainable,
                        llvm::ArrayRef<mlir::Value> inputs, Values &outputs);
  bool importSequential(const ModelConfig &model, llvm::StringRef path, bool trainable,
                        llvm::ArrayRef<mlir::Value> inputs, Values &outputs);
  /// The layer's own mpc.layer casts the inputs, the rest follows it.
  bool importComposite(const LayerConfig &layer, const Node *node, llvm::StringRef path,
                       bool trainable, llvm::ArrayRef<mlir::Value> inputs,
                       bool (*import)(CompositeBuilder &, llvm::SmallVectorImpl<mlir::Value> &),
                       Values &outputs);

  const ModelConfig &model;
  LayerSet unsupported; ///< reported before the walk
  uint64_t callCount = 0;
};

} // namespace mpc::keras

#endif
