// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which Keras a file means: the version that it states, else what its structure shows.
#ifndef MPC_LIB_IMPORT_KERAS_LEGACY_VERSION_H
#define MPC_LIB_IMPORT_KERAS_LEGACY_VERSION_H

#include "mpc/Import/Keras/Config.h"

namespace mpc::keras {

/// "2.2.4-tf", "2.16.0", "3.15.1"; nothing where the text is no version.
std::optional<KerasVersion> parseVersion(llvm::StringRef text);

/// Whether the model is written as Keras 2 writes one: InputLayers with `batch_input_shape`, calls
/// as lists.
bool looksLikeKeras2(const llvm::json::Object &model);

} // namespace mpc::keras

#endif
