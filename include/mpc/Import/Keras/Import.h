// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keras model files to the mpc dialect (phase `import`): `.keras` archives, legacy whole-model HDF5
// and architecture JSON.
#ifndef MPC_IMPORT_KERAS_IMPORT_H
#define MPC_IMPORT_KERAS_IMPORT_H

#include "mpc/Import/Keras/Config.h"
#include "mpc/Import/Keras/Weights.h"
#include "mpc/Policy/PolicySource.h"
#include "mpc/Training/TrainingRules.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include "llvm/ADT/SmallVector.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace mpc::keras {

struct ImportOptions {
  /// The policies that replace the file's (`--policy`); null: none. The importer asks them only
  /// whether and how to quantize; mpc-apply-policy gives layers their dtypes.
  const PolicySource *policy = nullptr;
  /// Leave the file's weights and optimizer state aside (`--initialize`); then missing or damaged
  /// weights are no error.
  bool readWeights = true;
  /// Name of the module; empty: the model's name in the file.
  std::string moduleName;
  /// Extents behind the batch of the model's inputs, by name (empty: of the only input), for those
  /// that the file leaves open: `--input-shape`. Where the file says an extent, it must agree.
  std::map<std::string, llvm::SmallVector<int64_t>> inputShapes;
  /// Stands for every extent that is still open (what does not depend on it is wanted); 0: an
  /// error.
  int64_t openExtent = 0;
  /// An HDF5 file of weights alone (.weights.h5, or save_weights of Keras 2), read in place of the
  /// model file's weights. Null for none.
  const llvm::MemoryBuffer *weights = nullptr;
};

/// The content of a model file. A writer of Keras files needs the maps `datasets` and `groups` and
/// the config.
struct ImportedModel {
  /// One function `@forward` and the `mpc.variable`s, as dialects/mpc/README.md gives them for the
  /// phase import: floating tensors are float32, policies stand on `mpc.layer` as names.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Keras's variable path (the symbol of `mpc.variable`) to the stored value, in the dtype that
  /// the file has. Shapes are checked against the layers. Empty when `hasWeights` is false.
  std::map<std::string, StoredTensor> weights;
  bool hasWeights = false;
  /// In the order of Keras 3's `optimizer/vars/0…n`: with a LossScaleOptimizer its four variables
  /// come first. In the order of the file when Keras 2 wrote it, and with names where it has any.
  std::vector<StoredTensor> optimizerVariables;
  /// One per optimizer variable in HDF5 files of Keras 2, else empty.
  std::vector<std::string> legacyOptimizerNames;
  /// The object of config.json; of an older file, in today's spelling.
  llvm::json::Value config = nullptr;
  std::string configText; ///< the text of `config` as the file has it; empty for an older file
  std::string metadata;   ///< metadata.json; empty when the file has none
  std::map<std::string, std::string> vocabularies; ///< Archive::vocabularies
  /// Where config.json's order puts each variable in model.weights.h5: dataset to variable path.
  std::map<std::string, std::string> datasets;
  /// Groups of model.weights.h5, also those without variables, to the names of their layers.
  std::map<std::string, std::string> groups;
  /// Each layer of the model, in its order, and the paths of its variables (of a nested model: of
  /// all its layers), trainable ones first.
  std::vector<std::pair<std::string, std::vector<std::string>>> layers;
  /// Paths of variables that no optimizer may update, whatever their layers say.
  std::vector<std::string> untrainable;
  /// Each adds a layer's LoRA factors to its kernel, as Keras does when it saves: among values of
  /// all variables by their names.
  std::vector<std::function<void(WeightFile &)>> merges;
  std::vector<std::string> warnings;
  /// Layers of which only inference is supported, "path (Class)".
  std::vector<std::string> inferenceOnly;
  /// Keras's compile_config, empty when the model was not compiled: optimizer, loss, loss_weights,
  /// metrics, weighted_metrics in the forms that the user passed to compile().
  llvm::json::Object compileConfig;
  TrainingRules trainingRules; ///< what of it Keras 3 would compute otherwise
  /// Keras names of the outputs, in the order out0, out1, …: the keys of a dictionary, else the
  /// layers that compute them.
  std::vector<std::string> outputNames;
  bool outputsAreDictionary = false;
  /// Lists and dictionaries inside each other, with the outputs' numbers; null where outputs are
  /// one list or dictionary.
  llvm::json::Value outputStructure = nullptr;
  std::string name; ///< of the model in the file
};

/// Imports the file at `path`; its kind is read from its content. The error joins all that are
/// found, each "FILE[:PLACE]: message"; all unsupported layers are listed at once.
llvm::Expected<ImportedModel> importKeras(llvm::StringRef path, const ImportOptions &options,
                                          mlir::MLIRContext &context);

/// The same for a file in memory; its name in messages is the buffer's identifier.
llvm::Expected<ImportedModel> importKeras(llvm::MemoryBufferRef file, const ImportOptions &options,
                                          mlir::MLIRContext &context);

/// Registers `mpc-translate --import-keras`.
void registerImportKeras();

} // namespace mpc::keras

#endif
