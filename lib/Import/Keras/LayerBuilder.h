// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The view of a model for the importer of one layer class: the layer's config, its inputs inside
// the body of an mpc.layer, and helpers that make variables and ops. Errors are collected, so one
// import reports what is wrong in every layer.
#ifndef MPC_LIB_IMPORT_KERAS_LAYERBUILDER_H
#define MPC_LIB_IMPORT_KERAS_LAYERBUILDER_H

#include "lib/Import/Keras/CallReader.h"
#include "lib/Import/Keras/LayerPolicies.h"
#include "lib/Import/Keras/VariableRequest.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/Twine.h"

#include <map>
#include <memory>
#include <optional>

namespace mpc {
class ScanBuilder;
}

namespace mpc::keras {

class GraphImporter;

/// A layer's requests to its policy.
struct PrecisionWishes {
  /// `CastsIntegers`: integer inputs too become the compute dtype. `KeepsTypes`: floating inputs
  /// and variables keep their dtypes (`Layer.autocast = False`).
  enum class Autocast { Usual, CastsIntegers, KeepsTypes };
  Autocast autocast = Autocast::Usual;
  /// The layer computes in float32 whatever its policy says.
  bool ignoresPolicy = false;
  /// The element types ("bf16") that no policy may have for compute dtype; each reason goes on
  /// after "computes in bfloat16, ".
  std::map<std::string, std::string> refusals;
};

class LayerBuilder : public CallReader {
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

  const std::string path; ///< containers and name: "encoder/d0"
  LayerPolicies &policies;
  const bool trainable; ///< with all that contains the layer

  // ---- Masks: i1 tensors, true where an element counts ---------------------------------------

  /// The mask that Keras gives to the layer's argument `mask`: the explicit one (`position` where
  /// it may be positional), else the implicit mask of the only tensor argument
  /// (keras/src/layers/layer.py, __call__ step 6). Null where there is none.
  mlir::Value getMask(unsigned position = kKeywordOnly);
  /// The implicit mask of an input; null when it has none.
  mlir::Value getMaskOf(mlir::Value input);
  /// For a layer inside another one: the mask that the outer layer hands to it.
  void giveMask(mlir::Value mask) { given = mask; }
  /// Output `output` carries `mask`, a value of the body; null takes away what the table says.
  void setMask(unsigned output, mlir::Value mask) { outputMasks[output] = mask; }
  /// The mask that setMask gave to the first output; null where it gave none.
  mlir::Value getOutputMask() const { return outputMasks.lookup(0); }

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
  /// Numbers whose whole parts name places in [0, limit): where they come from a model input,
  /// callers' values are checked, and this is true.
  bool limitIndices(mlir::Value indices, int64_t limit);
  /// The model's Philox state; the first use declares it.
  mlir::Value getRandomState();
  /// A number that no other random op of the model has.
  int64_t takeRandomStream();
  /// Says that the layer's training is not supported: models with it only predict. `what` goes into
  /// the message, by default the class.
  void setInferenceOnly(llvm::StringRef what = "");
  /// The layer's requests to its policy, which its op carries.
  PrecisionWishes &precision() { return root.wishes; }
  /// The text that the layer wrote beside the weights; null where it wrote none.
  const std::string *findVocabulary() const;

  /// An output after the first, which the import function returns.
  void addOutput(mlir::Value output) { laterOutputs.push_back(output); }

  /// The layer that the config stores under `key` (index: element of a list); null after an error.
  const LayerConfig *getChild(llvm::StringRef key, std::optional<unsigned> index = std::nullopt);

  /// How the layer quantizes; none after an error. A layer class that has quantized forms asks
  /// this, with their modes.
  Quantization getQuantization(llvm::ArrayRef<QuantizationMode> forms);

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

  GraphImporter &importer;
  LayerBuilder &root; ///< of the layer whose body this is
  mlir::Block &body;
  llvm::SmallVector<mlir::Value> variables; ///< values outside the body
  llvm::SmallVector<mlir::Value> outer;     ///< the values of @forward that `inputs` stand for
  llvm::SmallVector<mlir::Value> laterOutputs;
  llvm::DenseMap<unsigned, mlir::Value> outputMasks;
  std::string scope, group; ///< of variables; group: below that of the layer
  mlir::Value given;        ///< see giveMask
  llvm::MapVector<mlir::Value, mlir::Value> updates; ///< variable in the body to new value
  PrecisionWishes wishes;
  std::string quantization; ///< the mode that the body has; empty: none
  /// The modes that floating variables of the layer can be quantized in.
  llvm::SmallVector<llvm::StringRef> quantizedForms;
  bool failed = false;
};

} // namespace mpc::keras

#endif
