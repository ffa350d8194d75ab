// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels that the driver launches itself: what libraries leave of products, convolutions
// and attention.
#ifndef MPC_LIB_CODEGEN_CUDA_LIBRARYKERNELS_H
#define MPC_LIB_CODEGEN_CUDA_LIBRARYKERNELS_H

#include "mlir/IR/BuiltinOps.h"
#include "mpc/Codegen/CUDA/Target.h"
#include <string>

namespace mpc {

/// Those that the library calls of `module` may need, by the names of runtime/drivers/cuda; empty
/// for a module without library calls.
std::string getCudaLibraryKernels(mlir::ModuleOp module, Fp32Precision fp32Precision);

/// The structs and codes of dtypes that the kernels below take.
std::string getCudaKernelArguments();

/// Those around the products of attention, which use the ones for elements of any dtype.
llvm::StringRef getCudaAttentionKernels();

/// gelu and its derivative behind products.
std::string getCudaGeluKernels();

/// Sums of columns behind products.
std::string getCudaColumnSumKernels();

/// Counts of values that entries report.
std::string getCudaStatisticsKernels();

/// Those around products of float8.
llvm::StringRef getCudaFloat8Kernels();

/// Operands of float32 as sums of two numbers of TF32.
llvm::StringRef getCudaSplitKernels();

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CUDA_LIBRARYKERNELS_H
