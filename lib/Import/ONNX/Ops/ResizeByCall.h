// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Resize whose scales, or region of interest, are inputs of the model: the file states the extents
// of the result, and the call gives the coordinates.
#ifndef MPC_LIB_IMPORT_ONNX_OPS_RESIZEBYCALL_H
#define MPC_LIB_IMPORT_ONNX_OPS_RESIZEBYCALL_H

#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/Ops/ResizeTables.h"

namespace mpc::onnx {

/// An axis whose scale and region are scalars of the body.
struct ResizedByCall {
  int64_t axis = 0, extent = 0, places = 0;
  mlir::Value scale, begin, end; ///< begin, end: null without a region
};

/// Null after an error.
mlir::Value resizeByCall(NodeBuilder &b, mlir::Value x, const Resizing &resizing,
                         llvm::ArrayRef<ResizedByCall> axes);

} // namespace mpc::onnx

#endif
