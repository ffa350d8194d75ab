// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of matrices as NumPy's matmul has them.
#ifndef MPC_LIB_IMPORT_ONNX_OPS_PRODUCTS_H
#define MPC_LIB_IMPORT_ONNX_OPS_PRODUCTS_H

#include "lib/Import/ONNX/NodeBuilder.h"

namespace mpc::onnx {

/// Leading dimensions broadcast, vectors are rows on the left and columns on the right; null after
/// an error. Of integers the sums wrap around.
mlir::Value multiplyMatrices(NodeBuilder &b, mlir::Value x, mlir::Value y);

} // namespace mpc::onnx

#endif
