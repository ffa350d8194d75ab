// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The arguments that tell layers of KerasHub about positions.
#ifndef MPC_LIB_IMPORT_KERAS_HUB_POSITIONS_H
#define MPC_LIB_IMPORT_KERAS_HUB_POSITIONS_H

#include "lib/Import/Keras/LayerBuilder.h"

namespace mpc::keras {

/// The argument `positions`, [batch or 1, places]; null where the call has none, and after an error
/// for one that is no tensor of the model or has another shape.
mlir::Value readPositions(LayerBuilder &b, int64_t places);

} // namespace mpc::keras

#endif
