// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ops of the dialect whose axis must not be the first dimension, along any axis of known extent.
#ifndef MPC_LIB_IMPORT_ONNX_OPS_AXES_H
#define MPC_LIB_IMPORT_ONNX_OPS_AXES_H

#include "dialects/mpc/IR/Window.h"
#include "lib/Import/ONNX/NodeBuilder.h"

namespace mpc::onnx {

mlir::Value reverse(NodeBuilder &b, mlir::Value x, int64_t axis);

/// By these tables, in the order of their axes.
mlir::Value resample(NodeBuilder &b, mlir::Value x, llvm::ArrayRef<ResampleTable> tables);

/// Elements `first`, `first` + `step`, … , `count` of them, along the axis; null after an error.
mlir::Value sliceAxis(NodeBuilder &b, mlir::Value x, int64_t axis, int64_t first, int64_t step,
                      int64_t count);

} // namespace mpc::onnx

#endif
