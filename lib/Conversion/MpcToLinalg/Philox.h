// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11) in the body of
// a lowered op.
#ifndef MPC_LIB_CONVERSION_MPCTOLINALG_PHILOX_H
#define MPC_LIB_CONVERSION_MPCTOLINALG_PHILOX_H

#include "mlir/IR/Builders.h"

#include <array>

namespace mpc {

/// 32-bit integer arithmetic for the generator.
struct Philox {
  mlir::OpBuilder &builder;
  mlir::Location loc;

  mlir::Value constant(uint32_t value);
  mlir::Value low(mlir::Value i64);
  mlir::Value high(mlir::Value i64);
  mlir::Value add(mlir::Value a, uint32_t b);
  mlir::Value exclusiveOr(mlir::Value a, mlir::Value b);

  /// The output words for a counter of four words and a key of two.
  std::array<mlir::Value, 4> words(std::array<mlir::Value, 4> counter,
                                   std::array<mlir::Value, 2> key);
};

/// Row-major index, as i64, of an element in the noise's shape, where extents of 1 repeat. `shape`
/// is that of the loops; an empty `noise` is the same. `firstSample` (i64; null: 0) is the number
/// of the first one.
mlir::Value elementIndex(mlir::OpBuilder &builder, mlir::Location loc,
                         llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> noise,
                         mlir::Value firstSample = {});

/// Where mpc.dropout keeps elements of the type of `empty`, a tensor of i1 without contents whose
/// first extent alone may be dynamic.
mlir::Value buildKeptElements(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value empty,
                              mlir::Value state, int64_t stream, double rate);

} // namespace mpc

#endif
