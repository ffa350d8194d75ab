// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Places of matrices whose columns lie one after the other, in kernels that go through rows.
#ifndef MPC_ANALYSIS_TURNEDPLACE_H
#define MPC_ANALYSIS_TURNEDPLACE_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include <optional>

namespace mpc {

/// The place of element i of a matrix [rows, columns], counted row by row, in the turned matrix:
/// i % columns * rows + i / columns.
struct TurnedPlace {
  int64_t columns;
  mlir::Value rows;
};

/// Where the op stores to, if that is such a place of `linear` in a buffer that nothing else in the
/// kernel touches: two iterations then have nothing to do with each other.
std::optional<TurnedPlace> findTurnedPlace(mlir::memref::StoreOp store, mlir::Value linear);

} // namespace mpc

#endif // MPC_ANALYSIS_TURNEDPLACE_H
