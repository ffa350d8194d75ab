// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keras's activation functions by their names (keras/src/activations/activations.py).
#ifndef MPC_LIB_IMPORT_KERAS_ACTIVATIONFUNCTIONS_H
#define MPC_LIB_IMPORT_KERAS_ACTIVATIONFUNCTIONS_H

#include "lib/Import/Common/Activations.h"
#include "lib/Import/Keras/LayerBuilder.h"

namespace mpc::keras {

/// The activation that the config entry `key` names, applied to `input`. After an error `input`
/// itself, which has the shape that the layers behind would see.
mlir::Value applyConfiguredActivation(LayerBuilder &builder, llvm::StringRef key,
                                      mlir::Value input);

using ActivationFn = mlir::Value (*)(ValueBuilder &, mlir::Value);
/// The activation that the name means in this version of Keras, with its default arguments; null
/// for an unknown name.
ActivationFn findActivation(llvm::StringRef name, KerasVersion version = {});

} // namespace mpc::keras

#endif
