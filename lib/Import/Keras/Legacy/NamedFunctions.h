// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lambda layers that name a function of TensorFlow's or Keras's, and hold no code of their own.
#ifndef MPC_LIB_IMPORT_KERAS_LEGACY_NAMEDFUNCTIONS_H
#define MPC_LIB_IMPORT_KERAS_LEGACY_NAMEDFUNCTIONS_H

#include "lib/Import/Keras/LayerRegistry.h"

namespace mpc::keras {

/// Why a layer Lambda is not supported; empty for one whose function is known.
std::string whyLambdaIsRefused(const LayerConfig &layer);

/// The table of Lambda, which is asked for after whyLambdaIsRefused.
llvm::ArrayRef<LayerEntry> namedFunctionLayers();

} // namespace mpc::keras

#endif
