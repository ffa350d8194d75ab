// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Element types of float8, and what quantized layers divide by before they round to them.
#ifndef MPC_DIALECTS_MPC_IR_FLOAT8_H
#define MPC_DIALECTS_MPC_IR_FLOAT8_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mpc {

/// Whether it is an element type of float8 (Mpc_Float8).
inline bool isFloat8(mlir::Type type) {
  return llvm::isa<mlir::Float8E4M3FNType, mlir::Float8E5M2Type>(type);
}

/// `value` / `scale`, clipped to the largest number of a float8 `format`, each step in the type of
/// `value`; `scale` becomes what was divided by.
mlir::Value scaleForFloat8(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                           mlir::Value &scale, mlir::Type format);

} // namespace mpc

#endif // MPC_DIALECTS_MPC_IR_FLOAT8_H
