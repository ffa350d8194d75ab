// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes over the mpc dialect, in the order of the pipeline (docs/pipeline.md).

#ifndef MPC_TRANSFORMS_PASSES
#define MPC_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

#endif // MPC_TRANSFORMS_PASSES
