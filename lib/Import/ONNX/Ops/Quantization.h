// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Roundings that quantized operations share.
#ifndef MPC_LIB_IMPORT_ONNX_OPS_QUANTIZATION_H
#define MPC_LIB_IMPORT_ONNX_OPS_QUANTIZATION_H

#include "lib/Import/ONNX/NodeBuilder.h"

namespace mpc::onnx {

/// The numbers of an integer type of at most 16 bits; nothing for others.
std::optional<std::pair<double, double>> rangeOf(DataType type);

/// The nearest integer, ties to the even one, and the zero point (null: 0) added; numbers outside
/// of `type`, which has a range, become its last ones.
mlir::Value saturate(NodeBuilder &b, mlir::Value x, mlir::Value zeroPoint, DataType type);

} // namespace mpc::onnx

#endif
