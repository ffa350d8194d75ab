// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops whose iterations may be combined in any order, to the last bit.
#ifndef MPC_ANALYSIS_LOOPORDER_H
#define MPC_ANALYSIS_LOOPORDER_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mpc {

/// Whether the loop carries something, and that is extremes or bits alone: no sum that rounds.
bool combinesInAnyOrder(mlir::scf::ForOp loop);

} // namespace mpc

#endif // MPC_ANALYSIS_LOOPORDER_H
