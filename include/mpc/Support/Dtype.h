// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keras's names of element types.
#ifndef MPC_SUPPORT_DTYPE_H
#define MPC_SUPPORT_DTYPE_H

#include "mlir/IR/Types.h"

namespace mpc {

/// The element type of a Keras dtype ("bfloat16", "uint8", "bool"); null for what mpc has no
/// tensors of: strings, complex numbers, float8.
mlir::Type parseDtype(mlir::MLIRContext *context, llvm::StringRef name);

} // namespace mpc

#endif // MPC_SUPPORT_DTYPE_H
