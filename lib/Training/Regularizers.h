// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The losses of variables (keras/src/regularizers/regularizers.py).
#ifndef MPC_LIB_TRAINING_REGULARIZERS_H
#define MPC_LIB_TRAINING_REGULARIZERS_H

#include "lib/Training/LossFunction.h"

namespace mpc {

/// `total` and what the variables' regularizers add to it. They run on the stored variables,
/// outside any autocast.
mlir::Value addRegularizers(LossFunction &function, mlir::Value total, const TrainingRules &rules,
                            llvm::function_ref<void(const llvm::Twine &)> error);

} // namespace mpc

#endif // MPC_LIB_TRAINING_REGULARIZERS_H
