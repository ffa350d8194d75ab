// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One arith or math op as a C++ expression.
#ifndef MPC_LIB_CODEGEN_CUDA_SCALAREXPRESSION_H
#define MPC_LIB_CODEGEN_CUDA_SCALAREXPRESSION_H

#include "mlir/IR/Operation.h"
#include <string>

namespace mpc {

/// The type of a value in registers: float16 and bfloat16 are structs of their bits (Prelude.h).
/// Empty when kernels cannot hold it.
std::string cudaType(mlir::Type type);

/// The type of an element in memory: as in registers, but a bool is a byte.
std::string cudaStorageType(mlir::Type element);

/// A constant as a literal that reads back to the same bits; empty when it is no scalar.
std::string cudaLiteral(mlir::Attribute value);

/// The expression for the result of `op`, whose operands have the given names. Arithmetic of
/// float16 and bfloat16 is in float32, rounded once. Empty when there is none.
std::string cudaExpression(mlir::Operation *op, llvm::ArrayRef<std::string> operands);

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CUDA_SCALAREXPRESSION_H
