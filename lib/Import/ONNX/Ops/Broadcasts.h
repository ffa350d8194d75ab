// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensors repeated to a shape, which may have the open batch.
#ifndef MPC_LIB_IMPORT_ONNX_OPS_BROADCASTS_H
#define MPC_LIB_IMPORT_ONNX_OPS_BROADCASTS_H

#include "lib/Import/ONNX/NodeBuilder.h"

namespace mpc::onnx {

/// `x` as it broadcasts with a tensor of this shape (ShapedType::kDynamic is the batch); null after
/// an error.
mlir::Value broadcastTo(NodeBuilder &b, mlir::Value x, llvm::ArrayRef<int64_t> shape);

} // namespace mpc::onnx

#endif
