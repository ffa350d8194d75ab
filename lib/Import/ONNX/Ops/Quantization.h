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

/// An operand of 8 bits as i8, and its zero point as i32, null for 0: unsigned ones are shifted by
/// 128.
struct Factor {
  mlir::Value value, zeroPoint;
};

/// Nothing after an error. Of an image the channels go last.
std::optional<Factor> readFactor(NodeBuilder &b, unsigned input, unsigned zeroPointInput,
                                 bool isImage = false);

/// (lhs - its zero points) (rhs - its zero points) in i32, as NumPy's matmul multiplies; the sums
/// of products are exact, and zero points are taken off behind them. `isTransposed`: rhs is a
/// matrix [columns, depth]. Null after an error.
mlir::Value multiplyFactors(NodeBuilder &b, Factor lhs, Factor rhs, bool isTransposed);

} // namespace mpc::onnx

#endif
