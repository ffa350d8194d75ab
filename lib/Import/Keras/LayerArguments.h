// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which arguments Keras's own layers have: one that no importer knows must not change numbers in
// silence.
#ifndef MPC_LIB_IMPORT_KERAS_LAYERARGUMENTS_H
#define MPC_LIB_IMPORT_KERAS_LAYERARGUMENTS_H

#include "mpc/Import/Keras/Config.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Twine.h"

namespace mpc::keras {

/// Reports every argument in the layer's config, and in those of layers inside it, that its class
/// does not have in any version of Keras up to 3.15: a newer Keras wrote the file, or a hand.
/// null and false are what an argument has that asks for nothing. Not for classes that are not in
/// `keras.layers`.
void reportUnknownArguments(const LayerConfig &layer,
                            llvm::function_ref<void(const llvm::Twine &message)> report);

/// Whether a version of Keras, 2 or 3, has a layer class of this name.
bool isClassOfKeras(llvm::StringRef className);

} // namespace mpc::keras

#endif
