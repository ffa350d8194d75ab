// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The JSON members of the .keras archive that is written.
#ifndef MPC_TOOLS_MPC_CONVERT_KERASTEXT_H
#define MPC_TOOLS_MPC_CONVERT_KERASTEXT_H

#include "mpc/Driver/ModelState.h"

namespace mpc {

/// config.json: the model's own text, with the training config in effect. Where the loss is scaled,
/// compile_config says so with a LossScaleOptimizer: without it Keras would drop the scaler's state
/// unless its global policy is mixed_float16. A fixed scale becomes the optimizer's
/// loss_scale_factor, and `state.layout` loses the scaler's variables. `overridden`: the options
/// replace loss or optimizer.
llvm::Expected<std::string> makeConfigText(ModelState &state, bool overridden);

/// metadata.json: the model's own, or one without a date.
std::string makeMetadataText(const ModelState &state);

/// The version of Keras that metadata.json names.
std::string kerasVersionOf(const ModelState &state);

} // namespace mpc

#endif // MPC_TOOLS_MPC_CONVERT_KERASTEXT_H
