// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The arguments of the driver's kernels as text: structs of runtime/rules/cuda_kernels.inc and
// codes of dtypes.
#include "lib/Codegen/CUDA/LibraryKernels.h"
#include "mpc-rt/dtype.h"
#include "llvm/Support/FormatVariadic.h"

std::string mpc::getCudaKernelArguments() {
  std::string text =
#define MPC_CUDA_FIELD(type, name) "  " #type " " #name ";\n"
#define MPC_CUDA_FIELDS(type, name, extent) "  " #type " " #name "[" #extent "];\n"
#define MPC_CUDA_STRUCT(name, members) "struct " #name " {\n" members "};\n"
#include "runtime/rules/cuda_kernels.inc"
#undef MPC_CUDA_FIELD
#undef MPC_CUDA_FIELDS
#undef MPC_CUDA_STRUCT
      "enum dtype_code {\n";
#define MPC_RT_DTYPE(enumerator, value, bytes, keras, mlir, safetensors, numpy)                    \
  text += llvm::formatv("  dtype_{0} = {1},\n", keras, int(value)).str();
#include "mpc-rt/dtype.inc"
#undef MPC_RT_DTYPE
  return text + "};\n";
}
