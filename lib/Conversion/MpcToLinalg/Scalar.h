// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scalar arithmetic inside lowered ops: widening, the one rounding per op, constants, casts.
#ifndef MPC_LIB_CONVERSION_MPCTOLINALG_SCALAR_H
#define MPC_LIB_CONVERSION_MPCTOLINALG_SCALAR_H

#include "mlir/IR/Builders.h"

namespace mpc {

/// Extends a 16-bit float to float32; anything else is returned as it is.
mlir::Value widen(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value scalar);

/// Rounds a float to `type`, to nearest even, once. Selections among values that were extended from
/// `type` are rounded at their leaves, where the rounding is the identity.
mlir::Value roundTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value scalar,
                    mlir::Type type);

/// A float constant, or an integer one for integer types.
mlir::Value scalarOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, double value);

/// The constant that an element attribute holds, signless.
mlir::Value scalarOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Attribute element);

/// Builds mpc.cast of a scalar. `from` and `to` are the declared element types (with signedness);
/// the scalar and the result are signless.
mlir::Value castScalar(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value scalar,
                       mlir::Type from, mlir::Type to);

/// Signless form of an element type.
mlir::Type signless(mlir::Type elementType);

} // namespace mpc

#endif // MPC_LIB_CONVERSION_MPCTOLINALG_SCALAR_H
