// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Executes functions of mpc ops on reference tensors: the oracle of numerics tests.
#ifndef MPC_INTERPRETER_INTERPRETER_H
#define MPC_INTERPRETER_INTERPRETER_H

#include "dialects/mpc/IR/Mpc.h"

namespace mpc {

/// The results of `function` for `arguments`, one per argument of the function, in its order. Each
/// op has its reference value: computed in double, rounded once to its element type. Arguments must
/// have the declared element types and static extents; the dynamic (batch) extents must all be
/// equal. An argument that does not fit, and an op without reference value, is an error at its
/// location.
llvm::LogicalResult interpret(mlir::func::FuncOp function,
                              llvm::ArrayRef<ReferenceTensor> arguments,
                              llvm::SmallVectorImpl<ReferenceTensor> &results);

/// A tensor of `type` whose elements, row-major, are `values` rounded to the element type; a
/// dynamic first extent is found from their number. One value fills a tensor of static shape.
ReferenceTensor referenceTensor(mlir::RankedTensorType type, llvm::ArrayRef<double> values);

/// The tensor as an attribute, for constants.
mlir::DenseElementsAttr toElements(const ReferenceTensor &tensor);

} // namespace mpc

#endif // MPC_INTERPRETER_INTERPRETER_H
