// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arithmetic that several families of operations share.
#ifndef MPC_LIB_IMPORT_ONNX_OPS_ARITHMETIC_H
#define MPC_LIB_IMPORT_ONNX_OPS_ARITHMETIC_H

#include "lib/Import/ONNX/NodeBuilder.h"

namespace mpc::onnx {

/// `y` as it broadcasts to `x`: before opset 7 an attribute says along which axis. Null after an
/// error.
mlir::Value alignLegacy(NodeBuilder &b, mlir::Value x, mlir::Value y);

/// The first two inputs, which broadcast and have one type; nothing after an error.
std::optional<std::pair<mlir::Value, mlir::Value>> getPair(NodeBuilder &b);

/// The quotient of integers, rounded towards zero.
mlir::Value divideTruncated(NodeBuilder &b, mlir::Value x, mlir::Value y);

} // namespace mpc::onnx

#endif
