// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Extents of the loops of structured ops.
#ifndef MPC_ANALYSIS_LOOPEXTENT_H
#define MPC_ANALYSIS_LOOPEXTENT_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mpc/Analysis/BatchExtent.h"

namespace mpc {

/// Iterations of loop `loop`, taken from an operand that the loop indexes by itself; none when
/// there is no such operand or its extent is no function of the batch.
std::optional<BatchExtent> getLoopExtent(mlir::linalg::LinalgOp op, unsigned loop);

} // namespace mpc

#endif // MPC_ANALYSIS_LOOPEXTENT_H
