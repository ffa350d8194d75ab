// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Element types by Keras's names and by the runtime's codes.
#ifndef MPC_SUPPORT_DTYPE_H
#define MPC_SUPPORT_DTYPE_H

#include "mlir/IR/Types.h"
#include "mpc-rt/dtype.h"

#include <optional>

namespace mpc {

/// The element type of a Keras dtype ("bfloat16", "uint8", "bool"); null for what mpc has no
/// tensors of: strings, complex numbers, float8.
mlir::Type parseDtype(mlir::MLIRContext *context, llvm::StringRef name);

/// The runtime's code of an element type; none for what the runtime has no elements of. Float8 has
/// one, though only operands of contractions are of it.
std::optional<mpc_rt_dtype_t> runtimeDtypeOf(mlir::Type elementType);

/// The runtime's code of a Keras dtype; none as above.
std::optional<mpc_rt_dtype_t> runtimeDtypeOf(llvm::StringRef kerasName);

/// How MLIR spells the element type ("bf16"), and its bytes; empty and 0 for other codes.
llvm::StringRef spellingOf(mpc_rt_dtype_t dtype);
unsigned elementBytesOf(mpc_rt_dtype_t dtype);

/// Keras's name of what variables, inputs and outputs may have; empty for other codes.
llvm::StringRef kerasNameOf(mpc_rt_dtype_t dtype);

} // namespace mpc

#endif // MPC_SUPPORT_DTYPE_H
