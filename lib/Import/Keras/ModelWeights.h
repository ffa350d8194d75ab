// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which dataset of model.weights.h5 belongs to which variable.
#ifndef MPC_LIB_IMPORT_KERAS_MODELWEIGHTS_H
#define MPC_LIB_IMPORT_KERAS_MODELWEIGHTS_H

#include "lib/Import/Keras/GraphImporter.h"
#include "mpc/Import/Keras/Import.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mpc::keras {

/// Moves the variables' values and the optimizer's out of `file` into `model`. Errors, all at once:
/// a variable without a dataset, of another shape or not floating; more datasets than variables.
llvm::Error takeWeights(WeightFile &file, llvm::StringRef fileName, const GraphImporter &importer,
                        ImportedModel &model);

/// The same from a legacy .h5 file: whole models (group model_weights) and files of save_weights
/// (the root). Layers are matched by name, or where names differ in order, as Keras does; within a
/// layer weight_names lists the trainable variables first.
llvm::Error takeLegacyWeights(Hdf5File &file, const ModelConfig &config, llvm::StringRef fileName,
                              const GraphImporter &importer, ImportedModel &model);

/// Variables of a layer, or of all layers of a nested model: trainable ones first, as legacy files
/// list them.
std::vector<const ModelVariable *> variablesOf(const LayerConfig &layer,
                                               const GraphImporter &importer);

/// Gives `tensor` (the value at `dataset`) to `variable`, or reports why it does not fit.
void takeTensor(const ModelVariable &variable, llvm::StringRef dataset, StoredTensor &tensor,
                llvm::function_ref<void(llvm::StringRef place, const llvm::Twine &)> report,
                ImportedModel &model);

} // namespace mpc::keras

#endif
