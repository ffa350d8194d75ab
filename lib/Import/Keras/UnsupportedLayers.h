// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The layers of a model that mpc does not import, all listed before any is imported.
#ifndef MPC_LIB_IMPORT_KERAS_UNSUPPORTEDLAYERS_H
#define MPC_LIB_IMPORT_KERAS_UNSUPPORTEDLAYERS_H

#include "lib/Import/Keras/ImportReport.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace mpc::keras {

using LayerSet = llvm::SmallPtrSet<const LayerConfig *, 4>;

/// Reports each, and arguments that layers do not have. `path`: of the model.
void reportUnsupported(const ModelConfig &model, llvm::StringRef path, ImportReport &report,
                       LayerSet &unsupported);

} // namespace mpc::keras

#endif
