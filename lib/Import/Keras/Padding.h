// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether sequences of a model may be padded, which decides what mpc advises where an Input leaves
// their length open.
#ifndef MPC_LIB_IMPORT_KERAS_PADDING_H
#define MPC_LIB_IMPORT_KERAS_PADDING_H

#include "mpc/Import/Keras/Config.h"

namespace mpc::keras {

/// Whether steps that are put behind every sequence of an open length change no result where they
/// hold what the model masks: on the way of each such Input masks are made first, and every layer
/// behind leaves masked steps out or computes each step by itself. False where that is not certain.
bool masksCoverPadding(const ModelConfig &model);

} // namespace mpc::keras

#endif
