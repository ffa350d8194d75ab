// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of real numbers that are composed of others, in float32 or wider, rounded once.
#ifndef MPC_LIB_IMPORT_COMMON_REALFUNCTIONS_H
#define MPC_LIB_IMPORT_COMMON_REALFUNCTIONS_H

#include "lib/Import/Common/ValueBuilder.h"

namespace mpc {

mlir::Value applyHyperbolicSine(ValueBuilder &builder, mlir::Value x);
mlir::Value applyHyperbolicCosine(ValueBuilder &builder, mlir::Value x);
mlir::Value applyInverseHyperbolicSine(ValueBuilder &builder, mlir::Value x);
mlir::Value applyInverseHyperbolicCosine(ValueBuilder &builder, mlir::Value x);
mlir::Value applyInverseHyperbolicTangent(ValueBuilder &builder, mlir::Value x);
mlir::Value applyArcSine(ValueBuilder &builder, mlir::Value x);
mlir::Value applyArcCosine(ValueBuilder &builder, mlir::Value x);
mlir::Value applyArcTangent(ValueBuilder &builder, mlir::Value x);
/// Towards zero.
mlir::Value applyTruncation(ValueBuilder &builder, mlir::Value x);

} // namespace mpc

#endif
