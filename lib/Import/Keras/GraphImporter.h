// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Builds @forward of a model: walks the layers' calls in dependency order and gives each an
// mpc.layer. Variables are collected on the way and declared at the end, in Keras's order.
#ifndef MPC_LIB_IMPORT_KERAS_GRAPHIMPORTER_H
#define MPC_LIB_IMPORT_KERAS_GRAPHIMPORTER_H

#include "ForwardFunction.h"
#include "LayerBuilder.h"
#include "LayerPolicies.h"
#include "LayerTree.h"
#include "VariableTable.h"
#include "mpc/Import/Keras/Import.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <map>
#include <memory>
#include <set>

namespace mpc::keras {

class CompositeBuilder;

class GraphImporter {
public:
  /// `vocabularies`: Archive::vocabularies.
  GraphImporter(mlir::MLIRContext &context, const ModelConfig &model, llvm::StringRef fileName,
                const ImportOptions &options,
                const std::map<std::string, std::string> &vocabularies);

  /// The module, or null when errors were reported.
  mlir::OwningOpRef<mlir::ModuleOp> run();

  ImportReport report;
  LayerTree tree;
  LayerPolicies policies;
  ForwardFunction forward;
  VariableTable variables;

  llvm::ArrayRef<std::string> getOutputNames() const { return outputNames; }
  /// The user's structure of outputs is one dictionary of tensors.
  bool hasDictionaryOfOutputs() const { return outputsAreDictionary; }

  /// Imports the call of a part: `node` says how `inputs` are its arguments.
  bool importPart(const LayerConfig &part, const Node &node, llvm::StringRef path, bool trainable,
                  llvm::ArrayRef<mlir::Value> inputs, llvm::SmallVector<mlir::Value> &outputs) {
    return importCall(part, &node, path, trainable, inputs, outputs);
  }
  /// The call of a layer that is no model (importCall's part): one mpc.layer, unless the class says
  /// otherwise. Wrappers call it for layers inside them.
  bool importLayer(const LayerConfig &layer, const Node *node, llvm::StringRef path, bool trainable,
                   llvm::ArrayRef<mlir::Value> inputs, llvm::SmallVector<mlir::Value> &outputs);
  /// The call of a layer or model on every step of `sequence`, as a scan in @forward.
  bool importStepwise(const LayerConfig &layer, llvm::StringRef path, bool trainable,
                      mlir::Value sequence, llvm::SmallVector<mlir::Value> &outputs);
  /// Steps over `scanned` (dimension 1) as a scan in @forward; null after an error. `step` imports
  /// one: from what the builder carries and reads to the `next` values of `inits` and to what is
  /// `stacked`, which are the first results. `isRandom`: random ops take other numbers in every
  /// step.
  ScanOp importScan(llvm::StringRef path, llvm::ArrayRef<mlir::Value> inits,
                    llvm::ArrayRef<mlir::Value> scanned, bool reverse, bool isRandom,
                    llvm::function_ref<bool(ScanBuilder &scan, llvm::SmallVector<mlir::Value> &next,
                                            llvm::SmallVector<mlir::Value> &stacked)>
                        step);
  /// One mpc.layer whose body `import` emits.
  bool emitLayer(const LayerConfig &layer, const Node *node, llvm::StringRef path, bool trainable,
                 llvm::ArrayRef<mlir::Value> inputs, llvm::SmallVector<mlir::Value> &outputs,
                 llvm::function_ref<mlir::Value(LayerBuilder &)> import, bool passesMasksOn);

private:
  using Values = llvm::SmallVector<mlir::Value>;
  class FunctionalGraph;
  void reportUnsupported(const ModelConfig &model, llvm::StringRef path);
  /// Whether masked steps behind the others change no result: every layer that sees steps leaves
  /// them out, or computes each by itself.
  static bool leavesMaskedStepsOut(const ModelConfig &model);

  // These return whether there are outputs. With a complaint and outputs of the right shapes import
  // goes on, so that it finds what is wrong behind.
  bool importModel(const ModelConfig &model, llvm::StringRef path, bool trainable,
                   llvm::ArrayRef<mlir::Value> inputs, Values &outputs);
  bool importFunctional(const ModelConfig &model, llvm::StringRef path, bool trainable,
                        llvm::ArrayRef<mlir::Value> inputs, Values &outputs);
  bool importSequential(const ModelConfig &model, llvm::StringRef path, bool trainable,
                        llvm::ArrayRef<mlir::Value> inputs, Values &outputs);
  /// `node` says how the inputs are the arguments of the call; null: they are the first one.
  bool importCall(const LayerConfig &layer, const Node *node, llvm::StringRef path, bool trainable,
                  llvm::ArrayRef<mlir::Value> inputs, Values &outputs);
  /// The layer's own mpc.layer casts the inputs, the rest follows it.
  bool importComposite(const LayerConfig &layer, const Node *node, llvm::StringRef path,
                       bool trainable, llvm::ArrayRef<mlir::Value> inputs,
                       bool (*import)(CompositeBuilder &, llvm::SmallVectorImpl<mlir::Value> &),
                       Values &outputs);
  /// A constant array that a layer is called with, in @forward; null after an error.
  mlir::Value importArray(const llvm::json::Object &array, llvm::StringRef path);
  /// A node that keras.ops recorded: plain ops of @forward, no layer.
  bool importOperation(const LayerConfig &layer, const Node &node, llvm::StringRef path,
                       llvm::ArrayRef<mlir::Value> tensors, Values &outputs);
  /// A TensorFlow function that Keras 2 recorded (Legacy/): likewise.
  bool importTensorFlow(const LayerConfig &layer, const Node &node, llvm::StringRef path,
                        llvm::ArrayRef<mlir::Value> tensors, Values &outputs);
  /// The argument of @forward (root) or the cast (nested) that an InputLayer stands for; null after
  /// an error.
  mlir::Value importInput(const LayerConfig &layer, llvm::StringRef path, mlir::Value outer);
  /// Puts the user's extents into the shape of the model input `name`; false after an error.
  bool closeShape(llvm::StringRef path, llvm::StringRef name,
                  llvm::SmallVectorImpl<int64_t> &shape);
  mlir::Value makeInputLayer(const LayerConfig &layer, llvm::StringRef path, mlir::Value value,
                             mlir::Type elementType, llvm::StringRef dtype);

  const ModelConfig &model;
  const ImportOptions &options;
  llvm::SmallPtrSet<const LayerConfig *, 4> unsupported; ///< reported before the walk
  std::set<std::string> closedInputs; ///< names in options.inputShapes that inputs have
  bool masksCoverPadding = false;     ///< leavesMaskedStepsOut, and there are masks
  bool keepsBatch = false; ///< inputs keep a batch that the file fixes: some layer is stateful
  uint64_t callCount = 0;
  llvm::SmallVector<std::string> outputNames;
  /// Where the model's inputs are a dictionary, by which Keras is fed: layers to keys.
  llvm::StringMap<std::string> inputKeys;
  bool outputsAreDictionary = false;
};

} // namespace mpc::keras

#endif
