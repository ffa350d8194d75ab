// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the importer of one layer class sees: the layer's config, its inputs inside the body of an
// mpc.layer, and helpers that make variables and ops. Errors are collected, so one import reports
// what is wrong in every layer.
#ifndef MPC_LIB_IMPORT_KERAS_LAYERBUILDER_H
#define MPC_LIB_IMPORT_KERAS_LAYERBUILDER_H

#include "lib/Import/Common/ValueBuilder.h"
#include "lib/Import/Keras/Quantization/Quantization.h"
#include "lib/Import/Keras/VariableRequest.h"
#include "mpc-rt/dtype.h"
#include "mpc/Import/Keras/Config.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/Twine.h"

#include <memory>
#include <optional>

namespace mpc {
class ScanBuilder;
}

namespace mpc::keras {

class GraphImporter;

class LayerBuilder : public ValueBuilder {
public:
  /// `outer`: the values of @forward that the body's arguments stand for.
  LayerBuilder(GraphImporter &importer, const LayerConfig &layer, const Node *call,
               llvm::StringRef path, bool trainable, llvm::ArrayRef<mlir::Value> outer,
               mlir::Block &body);
  /// A layer inside `parent`'s that computes in its body (a cell, a wrapped layer): reads the
  /// config of `layer`, works on `inputs` (values of the body) and emits where `parent` does.
  /// `scope` goes before the names of its variables, `group` is its place in the weight file below
  /// the parent's.
  LayerBuilder(LayerBuilder &parent, const LayerConfig &layer, llvm::StringRef scope,
               llvm::StringRef group, llvm::ArrayRef<mlir::Value> inputs);

  const LayerConfig &layer;
  const std::string path; ///< containers and name: "encoder/d0"

  // ---- Inputs ---------------------------------------------------------------------------------

  /// The tensors of the positional arguments; when there are none, those of all keywords. Those
  /// before the mask, where getMask has found one among them.
  llvm::ArrayRef<mlir::Value> getInputs() const;
  /// The tensors that the call passes as argument `position` (counted from 0) or by the keyword
  /// `name`, in the order in which Keras flattens them; none when it passes null or nothing. A
  /// tensor that is passed as an argument which nobody asks for is an error.
  llvm::ArrayRef<mlir::Value> getArgument(unsigned position, llvm::StringRef name);
  /// The same argument as a list, null where it holds None.
  llvm::SmallVector<mlir::Value> getArgumentSlots(unsigned position, llvm::StringRef name);
  /// The same argument when it is a literal (not null) or a `__tensor__`, `__slice__`, … object.
  const llvm::json::Value *getLiteral(unsigned position, llvm::StringRef name) const;
  /// The same argument as a truth value; an error when it is none, nor a number, which Python takes
  /// for one.
  bool getCallFlag(unsigned position, llvm::StringRef name, bool otherwise);
  /// The only input; an error (and null) when there are more or none.
  mlir::Value getInput();
  /// The only input as a floating tensor. `castIntegers`: integers become floating, as Keras's
  /// promotion makes them where they meet the layer's variables; else they are an error.
  mlir::Value getFloatInput(bool castIntegers = false);

  // ---- Masks: i1 tensors, true where an element counts ---------------------------------------

  /// What Keras gives to the layer's argument `mask`: the explicit one (`position` where it may be
  /// positional), else the implicit mask of the only tensor argument (keras/src/layers/layer.py,
  /// __call__ step 6). Null without.
  mlir::Value getMask(unsigned position = UINT_MAX);
  /// The implicit mask of an input; null when it has none.
  mlir::Value getMaskOf(mlir::Value input);
  /// For a layer inside another one: the mask that the outer layer hands to it.
  void giveMask(mlir::Value mask) { given = mask; }
  /// Output `output` carries `mask`, a value of the body; null takes away what the table says.
  void setMask(unsigned output, mlir::Value mask) { outputMasks[output] = mask; }
  /// What setMask gave to the first output; null where it gave none.
  mlir::Value getOutputMask() const { return outputMasks.lookup(0); }

  // ---- Config: a missing or null key gives the default, another kind is an error -------------

  double getNumber(llvm::StringRef key, double otherwise);
  std::optional<double> getOptionalNumber(llvm::StringRef key);
  int64_t getInteger(llvm::StringRef key, int64_t otherwise);
  bool getFlag(llvm::StringRef key, bool otherwise);
  std::string getString(llvm::StringRef key, llvm::StringRef otherwise);
  /// A list of integers; null elements become `nullValue`. Nothing when the key is missing or null.
  std::optional<llvm::SmallVector<int64_t>> getIntegers(llvm::StringRef key, int64_t nullValue);

  // ---- Variables and state --------------------------------------------------------------------

  /// The variable's value in @forward; null after an error.
  mlir::Value declareVariable(const VariableRequest &request);
  /// Its value in the body; null after an error.
  mlir::Value addVariable(const VariableRequest &request);
  /// Gives `variable` (what addVariable returned) a new value, which the forward pass in training
  /// stores.
  void updateVariable(mlir::Value variable, mlir::Value value);
  /// Ends a scan in the body (ScanBuilder::finish) whose steps the layer inside computed: variables
  /// that a step renewed are carried from step to step, and random ops take other numbers in each.
  ScanOp finishSteps(ScanBuilder &scan, llvm::ArrayRef<mlir::Value> outputs);
  /// Whether the layer and all that contains it may be trained.
  bool isTrainable() const { return trainable; }
  /// Numbers whose whole parts name places in [0, limit): where they come from a model input,
  /// callers' values are checked, and this is true.
  bool limitIndices(mlir::Value indices, int64_t limit);
  /// The model's Philox state; the first use declares it.
  mlir::Value getRandomState();
  /// A number that no other random op of the model has.
  int64_t takeRandomStream();
  /// What the layer does in training is not supported: models with it only predict. `what` goes
  /// into the message, by default the class.
  void setInferenceOnly(llvm::StringRef what = "");
  /// `CastsIntegers`: integer inputs too become the compute dtype. `KeepsTypes`: floating inputs
  /// and variables keep their dtypes (`Layer.autocast = False`).
  enum class Autocast { Usual, CastsIntegers, KeepsTypes };
  void setAutocast(Autocast wanted) { root.autocast = wanted; }
  /// The layer computes in float32 whatever its policy says.
  void setIgnoresPolicy() { root.ignoresPolicy = true; }
  /// What the layer wrote beside the weights; null where it wrote nothing.
  const std::string *findVocabulary() const;
  /// No policy may have this element type ("bf16") for compute dtype; `reason` goes on after
  /// "computes in bfloat16, ".
  void refuseCompute(llvm::StringRef elementType, const llvm::Twine &reason) {
    root.refusals.set(elementType, builder.getStringAttr(reason));
  }

  /// An output after the first, which the import function returns.
  void addOutput(mlir::Value output) { laterOutputs.push_back(output); }

  /// The layer that the config stores under `key` (index: element of a list); null after an error.
  const LayerConfig *getChild(llvm::StringRef key, std::optional<unsigned> index = std::nullopt);

  /// The name of a layer's dtype policy as its config says it; null for the default.
  mlir::StringAttr getPolicyOf(const LayerConfig &other);

  /// Whether a layer in this one's config has a policy of the same compute dtype.
  bool computesAs(const LayerConfig &other);

  /// How the layer quantizes; none after an error. A layer class that has quantized forms asks
  /// this, with their modes.
  Quantization getQuantization(llvm::ArrayRef<QuantizationMode> forms);
  /// The dtype that its policy stores floating variables in.
  mpc_rt_dtype_t getVariableDType();

  /// Reports "FILE:path: message" and returns null.
  mlir::Value error(const llvm::Twine &message) override;
  bool hasFailed() const { return root.failed; }
  /// After an error that was reported elsewhere.
  void fail() { root.failed = true; }

private:
  friend class GraphImporter;
  mlir::Value bindOperand(mlir::Value outer);
  /// The value of @forward that an argument of the body stands for.
  mlir::Value getOperandOf(mlir::Value argument) const;
  void reportUnreadArguments();
  const Argument *findArgument(unsigned position, llvm::StringRef name) const;

  GraphImporter &importer;
  LayerBuilder &root;     ///< of the layer whose body this is
  const Node *const call; ///< null in a Sequential model: one tensor, no more
  const bool trainable;
  mlir::Block &body;
  llvm::SmallVector<mlir::Value> inputs; ///< block arguments, keywords' after the others
  mutable llvm::SmallPtrSet<const Argument *, 4> readArguments;
  const Argument *maskArgument = nullptr;   ///< the explicit one, once getMask was asked
  llvm::SmallVector<mlir::Value> variables; ///< values outside the body
  llvm::SmallVector<mlir::Value> outer;     ///< the values of @forward that `inputs` stand for
  llvm::SmallVector<mlir::Value> laterOutputs;
  llvm::DenseMap<unsigned, mlir::Value> outputMasks;
  std::string scope, group; ///< of variables; group: below that of the layer
  mlir::Value given;        ///< see giveMask
  llvm::MapVector<mlir::Value, mlir::Value> updates; ///< variable in the body to new value
  Autocast autocast = Autocast::Usual;
  bool ignoresPolicy = false;
  mlir::NamedAttrList refusals; ///< of MpcDialect::kRefusesAttr
  std::string quantization;     ///< the mode that the body has; empty: none
  bool failed = false;
};

} // namespace mpc::keras

#endif
