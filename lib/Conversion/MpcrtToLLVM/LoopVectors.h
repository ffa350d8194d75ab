// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The body of an innermost loop for several iterations at once.
#ifndef MPC_LIB_CONVERSION_MPCRTTOLLVM_LOOPVECTORS_H
#define MPC_LIB_CONVERSION_MPCRTTOLLVM_LOOPVECTORS_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace mpc {

/// `element`, or a vector of as many.
mlir::Type vectorOf(mlir::Type element, int64_t lanes);

/// Lanes [first, first + count) of a vector; a scalar for one.
mlir::Value lanesOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value vector, int64_t first,
                    int64_t count);

/// Makes values of neighbouring iterations of a loop one vector.
class LoopVectors {
public:
  /// `omitted` are ops of the loop that nothing is made for.
  LoopVectors(mlir::scf::ForOp loop, const llvm::SmallPtrSetImpl<mlir::Operation *> &omitted);

  /// Whether every op has a form on vectors: memory is read in the order of the iterations.
  bool arePossible() const { return possible; }

  /// How many ops run on vectors.
  int64_t length() const { return vectorOps; }

  /// Emits vectors of `terms` for the iterations from `iteration` on.
  llvm::SmallVector<mlir::Value> emit(mlir::OpBuilder &builder, mlir::Value iteration,
                                      int64_t lanes, mlir::ValueRange terms);

private:
  /// How a value differs between iterations. An index is a number that grows by one.
  enum class Kind { Same, Index, Other };
  Kind kindOf(mlir::Value value) const;
  std::optional<Kind> classify(mlir::Operation &op) const;

  mlir::scf::ForOp loop;
  llvm::SmallVector<std::pair<mlir::Operation *, Kind>> ops;
  llvm::DenseMap<mlir::Value, Kind> kinds;
  bool possible = true;
  int64_t vectorOps = 0;
};

} // namespace mpc

#endif
