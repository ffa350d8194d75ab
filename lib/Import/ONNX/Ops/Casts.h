// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversions between ONNX's element types.
#ifndef MPC_LIB_IMPORT_ONNX_OPS_CASTS_H
#define MPC_LIB_IMPORT_ONNX_OPS_CASTS_H

#include "lib/Import/ONNX/NodeBuilder.h"

namespace mpc::onnx {

/// `x` with elements of another type of MLIR.
mlir::Value castTo(NodeBuilder &b, mlir::Value x, mlir::Type element);
/// `x` of the type `from` as one of type `to`, as ONNX's Cast makes it; null after an error.
/// `saturate`: what is too large for a float8 becomes its largest number, else NaN or infinity.
mlir::Value convert(NodeBuilder &b, mlir::Value x, DataType from, DataType to, bool saturate);

} // namespace mpc::onnx

#endif
