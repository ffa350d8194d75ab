// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which dataset of model.weights.h5 belongs to which variable.
#ifndef MPC_LIB_IMPORT_KERAS_MODELWEIGHTS_H
#define MPC_LIB_IMPORT_KERAS_MODELWEIGHTS_H

#include "GraphImporter.h"
#include "mpc/Import/Keras/Import.h"

namespace mpc::keras {

/// Moves the variables' values and the optimizer's out of `file` into `model`. Errors, all at once:
/// a variable without a dataset, of another shape or not floating; more datasets than variables.
llvm::Error takeWeights(WeightFile &file, llvm::StringRef fileName, const GraphImporter &importer,
                        ImportedModel &model);

} // namespace mpc::keras

#endif
