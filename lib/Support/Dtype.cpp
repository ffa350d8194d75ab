// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mpc/Support/Dtype.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringSwitch.h"

mlir::Type mpc::parseDtype(mlir::MLIRContext *context, llvm::StringRef name) {
  const llvm::StringRef spelling = llvm::StringSwitch<llvm::StringRef>(name)
#define MPC_RT_DTYPE(enumerator, value, bytes, keras, mlir, safetensors, numpy) .Case(keras, mlir)
#include "mpc-rt/dtype.inc"
#undef MPC_RT_DTYPE
                                       .Default("");
  return spelling.empty() ? mlir::Type() : mlir::parseType(spelling, context);
}

std::optional<mpc_rt_dtype_t> mpc::runtimeDtypeOf(mlir::Type elementType) {
  if (llvm::isa<mlir::Float8E4M3FNType>(elementType))
    return MPC_RT_FLOAT8_E4M3FN;
  if (llvm::isa<mlir::Float8E5M2Type>(elementType))
    return MPC_RT_FLOAT8_E5M2;
  std::string spelling;
  llvm::raw_string_ostream(spelling) << elementType;
  return llvm::StringSwitch<std::optional<mpc_rt_dtype_t>>(spelling)
#define MPC_RT_DTYPE(enumerator, value, bytes, keras, mlir, safetensors, numpy) .Case(mlir, value)
#include "mpc-rt/dtype.inc"
#undef MPC_RT_DTYPE
      .Default(std::nullopt);
}

std::optional<mpc_rt_dtype_t> mpc::runtimeDtypeOf(llvm::StringRef kerasName) {
  return llvm::StringSwitch<std::optional<mpc_rt_dtype_t>>(kerasName)
#define MPC_RT_DTYPE(enumerator, value, bytes, keras, mlir, safetensors, numpy) .Case(keras, value)
#include "mpc-rt/dtype.inc"
#undef MPC_RT_DTYPE
      .Default(std::nullopt);
}

namespace {
struct DtypeRow {
  llvm::StringRef keras, mlir;
  unsigned bytes;
};
} // namespace

static DtypeRow rowOf(mpc_rt_dtype_t dtype) {
  switch (dtype) {
#define MPC_RT_DTYPE(enumerator, value, bytes, keras, mlir, safetensors, numpy)                    \
  case value:                                                                                      \
    return {keras, mlir, bytes};
#include "mpc-rt/dtype.inc"
#undef MPC_RT_DTYPE
  default:
    return {"", "", 0};
  }
}

llvm::StringRef mpc::kerasNameOf(mpc_rt_dtype_t dtype) { return rowOf(dtype).keras; }

llvm::StringRef mpc::spellingOf(mpc_rt_dtype_t dtype) { return rowOf(dtype).mlir; }

unsigned mpc::elementBytesOf(mpc_rt_dtype_t dtype) { return rowOf(dtype).bytes; }
