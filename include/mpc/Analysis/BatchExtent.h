// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Extents as functions of the batch. The batch is the only dynamic extent of a model, so every
// extent in an entry is fixed + per_sample * batch.
#ifndef MPC_ANALYSIS_BATCHEXTENT_H
#define MPC_ANALYSIS_BATCHEXTENT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AffineExpr.h"
#include <optional>

namespace mpc {

/// fixed + perSample * batch.
struct BatchExtent {
  int64_t fixed = 0, perSample = 0;
  bool isFixed() const { return perSample == 0; }
  bool operator==(const BatchExtent &other) const {
    return fixed == other.fixed && perSample == other.perSample;
  }
  /// None when the product is quadratic in the batch or overflows.
  std::optional<BatchExtent> operator*(const BatchExtent &other) const;
  /// None when the sum overflows.
  std::optional<BatchExtent> operator+(const BatchExtent &other) const;
};

/// The argument of an entry that carries the batch (`mpcrt.batch`); null when there is none.
mlir::BlockArgument getBatchArgument(mlir::func::FuncOp entry);

/// An index of an entry as a function of the batch; none when it is something else.
std::optional<BatchExtent> evaluateIndex(mlir::Value index);

/// Extent of a dimension of a memref or tensor.
std::optional<BatchExtent> getExtent(mlir::Value shaped, int64_t dimension);

/// Number of elements.
std::optional<BatchExtent> getElementCount(mlir::Value shaped);

/// `extent` as an index where `builder` stands.
mlir::Value materialize(mlir::OpBuilder &builder, mlir::Location loc, BatchExtent extent,
                        mlir::Value batch);

} // namespace mpc

#endif // MPC_ANALYSIS_BATCHEXTENT_H
