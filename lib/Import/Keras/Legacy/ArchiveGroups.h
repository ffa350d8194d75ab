// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names of groups in model.weights.h5 of older archives.
#ifndef MPC_LIB_IMPORT_KERAS_LEGACY_ARCHIVEGROUPS_H
#define MPC_LIB_IMPORT_KERAS_LEGACY_ARCHIVEGROUPS_H

#include "mpc/Import/Keras/Weights.h"

#include "llvm/ADT/ArrayRef.h"

namespace mpc::keras {

/// Gives the datasets the names that Keras 3 writes. Keras 3.0 and 2.x call the group of a
/// container's layers by another name; 2.12 and 2.13 count layers with weights twice, so that the
/// second Dense is `dense_2`; on Windows 2.15 writes `layers\dense` as one name; parts of a
/// layer may be called as its private attributes (`_key_dense`). `expected`: the
/// datasets of the model's variables.
void renameLegacyGroups(WeightFile &file, llvm::ArrayRef<std::string> expected);

} // namespace mpc::keras

#endif
