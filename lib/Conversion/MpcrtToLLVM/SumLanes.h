// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums in lanes of vectors, and one sum of the lanes.
#ifndef MPC_LIB_CONVERSION_MPCRTTOLLVM_SUMLANES_H
#define MPC_LIB_CONVERSION_MPCRTTOLLVM_SUMLANES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace mpc {

/// One value for each of the sums that are made side by side (of which some may be extremes).
using Sums = llvm::SmallVector<mlir::Value>;
/// The terms from some index on: vectors of so many lanes, scalars for one.
using Terms = llvm::function_ref<Sums(mlir::OpBuilder &, mlir::Value index, int64_t lanes)>;

/// Emits code. Vectors of `lanes` lanes each; `sums` has the lanes of one vector more than once.
class SumLanes {
public:
  /// `combiners` add a term to what the loop carries.
  SumLanes(llvm::ArrayRef<mlir::Operation *> combiners, mlir::Location loc)
      : combiners(combiners), loc(loc) {}

  mlir::Value constant(mlir::OpBuilder &b, int64_t value) const {
    return mlir::arith::ConstantIndexOp::create(b, loc, value);
  }
  /// The largest multiple of `number` that is not larger.
  mlir::Value roundDown(mlir::OpBuilder &b, mlir::Value value, int64_t number) const;
  mlir::Value advance(mlir::OpBuilder &b, mlir::Value index, int64_t number) const;

  Sums combine(mlir::OpBuilder &b, mlir::ValueRange before, mlir::ValueRange after) const;

  /// The values that change no sum, in so many vectors.
  llvm::SmallVector<Sums> neutral(mlir::OpBuilder &b, int64_t vectors, int64_t lanes) const;

  using Iteration = llvm::function_ref<llvm::SmallVector<Sums>(mlir::OpBuilder &, mlir::Value index,
                                                               llvm::SmallVector<Sums> sums)>;
  /// A loop that carries the sums; none where it would run once.
  llvm::SmallVector<Sums> repeat(mlir::OpBuilder &b, mlir::Value begin, mlir::Value end,
                                 int64_t step, llvm::SmallVector<Sums> sums,
                                 Iteration iteration) const;

  /// The terms of [begin, end), which is a multiple of all lanes, go to the vectors in turn.
  llvm::SmallVector<Sums> accumulate(mlir::OpBuilder &b, llvm::SmallVector<Sums> sums,
                                     int64_t lanes, mlir::Value begin, mlir::Value end,
                                     Terms terms) const;

  /// One vector of several.
  Sums foldVectors(mlir::OpBuilder &b, llvm::SmallVector<Sums> sums) const;

  /// Sums as scalars, with the `left` terms from `index` on, fewer than lanes. Halves of the lanes
  /// are added to each other until one is left; terms join once they are as many as the lanes left.
  Sums foldLanes(mlir::OpBuilder &b, Sums sums, int64_t lanes, mlir::Value index, int64_t left,
                 Terms terms) const;

  /// Sums as scalars, with the `left` terms from `index` on, fewer than all lanes.
  Sums finish(mlir::OpBuilder &b, llvm::SmallVector<Sums> sums, int64_t lanes, mlir::Value index,
              int64_t left, Terms terms) const;

private:
  llvm::SmallVector<mlir::Operation *> combiners;
  mlir::Location loc;
};

} // namespace mpc

#endif
