// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The optimizer state of files that Keras 2 wrote.
#ifndef MPC_LIB_DRIVER_LEGACYOPTIMIZERSTATE_H
#define MPC_LIB_DRIVER_LEGACYOPTIMIZERSTATE_H

#include "mlir/IR/BuiltinOps.h"
#include "mpc/Import/Keras/Weights.h"
#include "mpc/Support/WeightStore.h"
#include "mpc/Training/TrainingRules.h"
#include <string>
#include <vector>

namespace mpc {

/// Gives the state of a Keras 2 optimizer to the module's variables of role optimizer. Keras 2
/// lists the iterations and then the slots: TensorFlow's, and Keras 2.0 to 2.3, one slot of all
/// variables after the other, optimizers of 2.11 and later variable by variable; names say which
/// slot it is, or in Keras 2.0 to 2.3 the order does. Archives have numbers and no `names`.
/// Variables that Keras 2 does not keep (learning rate) stay as they are; a product that follows
/// from the iterations is computed. Returns a warning when the state does not fit and is left out,
/// or, of the family Keras2, taken in part, unless no step was made.
std::string addLegacyOptimizerState(mlir::ModuleOp module, OptimizerFamily family,
                                    const std::vector<std::string> &names,
                                    std::vector<keras::StoredTensor> stored, WeightStore &weights);

/// Whether these, which numbers name, are as many as an archive of Keras 2 has; one that mpc wrote
/// of a model of Keras 2 has Keras 3's.
bool isLegacyList(mlir::ModuleOp module, llvm::ArrayRef<keras::StoredTensor> stored);

} // namespace mpc

#endif // MPC_LIB_DRIVER_LEGACYOPTIMIZERSTATE_H
