// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Index arithmetic of a pool's windows inside the body of a structured op. What depends on no
// channel is the same for a whole inner loop and is computed once for it.
#ifndef MPC_LIB_CONVERSION_MPCTOLINALG_WINDOWS_H
#define MPC_LIB_CONVERSION_MPCTOLINALG_WINDOWS_H

#include "dialects/mpc/IR/Window.h"
#include "mlir/IR/Builders.h"

namespace mpc {

/// Shorthands for arithmetic on indices.
struct IndexMath {
  mlir::OpBuilder &builder;
  mlir::Location loc;

  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b);
  mlir::Value subtract(mlir::Value a, mlir::Value b);
  mlir::Value multiply(mlir::Value a, int64_t b);
  /// Both numbers must not be negative.
  mlir::Value divide(mlir::Value a, int64_t b);
  mlir::Value clamp(mlir::Value a, int64_t low, int64_t high);
  mlir::Value isAtLeast(mlir::Value a, mlir::Value b);
  mlir::Value isBelow(mlir::Value a, mlir::Value b);
  /// Either may be null, which stands for true.
  mlir::Value both(mlir::Value a, mlir::Value b);
};

/// An index along an axis that is always valid, and a condition (null when always true) that says
/// whether it counts.
struct GuardedIndex {
  mlir::Value index, counts;
};

/// Element `tap` of the window of `output`.
GuardedIndex elementOfWindow(IndexMath &math, const PoolAxis &axis, mlir::Value output,
                             int64_t tap);
/// The same for a number that a loop counts.
GuardedIndex elementOfWindow(IndexMath &math, const PoolAxis &axis, mlir::Value output,
                             mlir::Value tap);

/// The window number `candidate`, of at most axis.mostWindows(), that may hold `element`.
GuardedIndex windowOfElement(IndexMath &math, const PoolAxis &axis, mlir::Value element,
                             mlir::Value candidate);

/// How many elements the window of `output` has; a constant where all have as many.
mlir::Value countElements(IndexMath &math, const PoolAxis &axis, mlir::Value output);

} // namespace mpc

#endif // MPC_LIB_CONVERSION_MPCTOLINALG_WINDOWS_H
