// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums of cotangents of slices, which are zero elsewhere.
#ifndef MPC_DIALECTS_MPC_IR_JOINPADS_H
#define MPC_DIALECTS_MPC_IR_JOINPADS_H

#include "mlir/IR/Builders.h"

namespace mpc {

/// The sum of two tensors that are zero but for neighbouring parts along one axis, the cotangents
/// of slices (the gates of a recurrent cell, the steps of a sequence): those parts side by side.
/// Null when they are not that. A zero keeps its sign, as where Keras splits.
mlir::Value joinPads(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value a, mlir::Value b);

} // namespace mpc

#endif // MPC_DIALECTS_MPC_IR_JOINPADS_H
