// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of a tensor replaced, or combined with others, at indices that integers name.
#ifndef MPC_LIB_IMPORT_ONNX_OPS_SCATTER_H
#define MPC_LIB_IMPORT_ONNX_OPS_SCATTER_H

#include "lib/Import/ONNX/NodeBuilder.h"

namespace mpc::onnx {

/// `indices`, integers, from the front where they count from the end.
mlir::Value countFromFront(NodeBuilder &b, mlir::Value indices, int64_t extent);

/// `table` [b…, n, r…] whose rows at `indices` [b…, m] become those of `updates` [b…, m, r…], the
/// last of several for one row, or their sum, product, largest or smallest with them
/// (`reduction` as ONNX names it). Indices outside are dropped. Null after an error.
mlir::Value scatterRows(NodeBuilder &b, mlir::Value table, mlir::Value indices, mlir::Value updates,
                        llvm::StringRef reduction);

} // namespace mpc::onnx

#endif
