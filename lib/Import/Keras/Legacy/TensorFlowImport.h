// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which layers that record TensorFlow functions can be imported.
#ifndef MPC_LIB_IMPORT_KERAS_LEGACY_TENSORFLOWIMPORT_H
#define MPC_LIB_IMPORT_KERAS_LEGACY_TENSORFLOWIMPORT_H

#include "mpc/Import/Keras/Config.h"

namespace mpc::keras {

/// Why such a layer (isTensorFlowClass) is not supported, whatever it is called with; empty for one
/// that is.
std::string whyTensorFlowIsRefused(const LayerConfig &layer);

} // namespace mpc::keras

#endif
