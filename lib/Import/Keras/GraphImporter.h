// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Builds @forward of a model: walks the layers' calls in dependency order and gives each an
// mpc.layer. Variables are collected on the way and declared at the end, in Keras's order.
#ifndef MPC_LIB_IMPORT_KERAS_GRAPHIMPORTER_H
#define MPC_LIB_IMPORT_KERAS_GRAPHIMPORTER_H

#include "LayerBuilder.h"
#include "LayerPolicies.h"
#include "LayerTree.h"
#include "Legacy/SymbolicIntegers.h"
#include "Quantization/KernelQuantizer.h"
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

/// A variable of the model, once for all calls of its layer.
struct ModelVariable {
  /// What the next call reads.
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

class GraphImporter {
public:
  /// `vocabularies`: Archive::vocabularies.
  GraphImporter(mlir::MLIRContext &context, const ModelConfig &model, llvm::StringRef fileName,
                const ImportOptions &options,
                const std::map<std::string, std::string> &vocabularies);

  /// The module, or null when errors were reported.
  mlir::OwningOpRef<mlir::ModuleOp> run(llvm::StringRef moduleName);

  ImportReport report;
  LayerTree tree;
  LayerPolicies policies;

  /// In Keras's order (Model.variables); valid after run.
  llvm::ArrayRef<ModelVariable> getVariables() const { return variables; }
  llvm::ArrayRef<std::string> getOutputNames() const { return outputNames; }
  /// The user's structure of outputs is one dictionary of tensors.
  bool hasDictionaryOfOutputs() const { return outputsAreDictionary; }

  /// The variable `request` of `layer`, made on the first call; null after an error.
  mlir::Value getVariable(const LayerBuilder &builder, const VariableRequest &request);
  /// The value that later calls read for `current` (a variable's argument, or its last update), and
  /// that the forward pass stores.
  void setUpdate(mlir::Value current, mlir::Value update);
  /// Keras lists the variable with the value `current` as the first one of `wrapper`, too.
  void listFirst(mlir::Value current, const LayerConfig &wrapper);
  /// Whether `current` is the value of a variable that inference renews, too.
  bool isStateful(mlir::Value current) const;
  /// Bounds the numbers of a model input; of other values nothing is checked, and this is false.
  bool limitInput(mlir::Value input, int64_t limit);
  /// The value that the next call reads of a layer's variable; null when it has no such variable.
  mlir::Value findVariable(const LayerConfig &layer, llvm::StringRef name) const;
  /// Imports the call of a part: `node` says how `inputs` are its arguments.
  bool importPart(const LayerConfig &part, const Node &node, llvm::StringRef path, bool trainable,
                  llvm::ArrayRef<mlir::Value> inputs, llvm::SmallVector<mlir::Value> &outputs) {
    return importCall(part, &node, path, trainable, inputs, outputs);
  }
  mlir::Value getRandomState();
  bool hasRandomState() const { return bool(randomState); }
  int64_t takeRandomStream() { return randomStreams++; }

  /// The mask (i1) that a value of @forward carries; null without one.
  mlir::Value getMask(mlir::Value value) const { return masks.lookup(value); }
  void setMask(mlir::Value value, mlir::Value mask) { masks[value] = mask; }
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

  /// Training adds a scalar to the loss, which `compute` makes in float32 of `input`, in a
  /// layer of its own; without `compute` the input itself.
  void addLossTerm(
      llvm::StringRef path, llvm::StringRef kind, mlir::Value input,
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::Value)> compute = {});

  /// What TensorFlow's functions of shapes gave.
  SymbolicIntegerTable symbolicIntegers;

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
  PrecisionAttr makePrecision(mlir::Type compute, llvm::StringRef rule);

  mlir::BlockArgument addArgument(mlir::RankedTensorType type, llvm::StringRef attributeName,
                                  mlir::Attribute attribute);
  ModelVariable makeVariable(const LayerBuilder &builder, const VariableRequest &request,
                             mlir::RankedTensorType type);
  std::string placeInFile(const LayerBuilder &builder, const VariableRequest &request);
  /// Puts variable arguments into Keras's order, declares them, and gives @forward its results.
  void finish(mlir::ModuleOp module, llvm::ArrayRef<mlir::Value> outputs);
  // The steps of finish.
  class ForwardResults;
  void sortVariables();
  void nameVariables();
  void nameParts(ModelVariable &kernel);
  void sortArguments();
  void addResults(ForwardResults &results, llvm::ArrayRef<mlir::Value> outputs);
  void nameArguments();
  void declareVariables(mlir::ModuleOp module);

  mlir::MLIRContext &context;
  const ModelConfig &model;
  const ImportOptions &options;
  llvm::SmallPtrSet<const LayerConfig *, 4> unsupported; ///< reported before the walk
  std::set<std::string> closedInputs; ///< names in options.inputShapes that inputs have
  bool modelIsTrainable = true;       ///< false: no variable is, whatever layers say
  bool masksCoverPadding = false;     ///< leavesMaskedStepsOut, and there are masks
  bool keepsBatch = false; ///< inputs keep a batch that the file fixes: some layer is stateful
  mlir::OpBuilder builder;
  mlir::Location location;
  mlir::func::FuncOp forward;
  mlir::Block *body = nullptr;

  std::vector<ModelVariable> variables;
  llvm::DenseMap<const LayerConfig *, llvm::SmallVector<unsigned, 2>> variablesOf;
  llvm::DenseMap<mlir::Value, mlir::Value> masks; ///< `_keras_mask` of values of @forward
  uint64_t callCount = 0;
  llvm::SmallVector<std::string> inputNames, outputNames;
  /// Where the model's inputs are a dictionary, by which Keras is fed: layers to keys.
  llvm::StringMap<std::string> inputKeys;
  bool outputsAreDictionary = false;
  llvm::DenseMap<mlir::Value, int64_t> indexLimits; ///< of arguments of @forward
  llvm::SmallVector<mlir::Value> lossTerms;
  mlir::BlockArgument randomState;
  int64_t randomStreams = 0;
};

} // namespace mpc::keras

#endif
