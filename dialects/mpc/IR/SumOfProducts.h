// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Einstein sums of two operands that no mpc.contract expresses, because the batch would not come
// first: each of several matrices, one for every index along another dimension, with all samples.
#ifndef MPC_DIALECTS_MPC_IR_SUMOFPRODUCTS_H
#define MPC_DIALECTS_MPC_IR_SUMOFPRODUCTS_H

#include "mlir/IR/Builders.h"

namespace mpc {

/// One label for each dimension of a tensor.
using DimensionLabels = llvm::SmallVector<int64_t>;

/// The tensor with the dimensions `result` whose elements are sums, over all labels that `result`
/// lacks, of products of elements of `lhs` and `rhs`: a multiplication and a reduction, in the
/// operands' element type. The batch may be summed away or come first in `result`.
mlir::Value sumProducts(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lhs,
                        llvm::ArrayRef<int64_t> lhsLabels, mlir::Value rhs,
                        llvm::ArrayRef<int64_t> rhsLabels, llvm::ArrayRef<int64_t> result);

} // namespace mpc

#endif // MPC_DIALECTS_MPC_IR_SUMOFPRODUCTS_H
