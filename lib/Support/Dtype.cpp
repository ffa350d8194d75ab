// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mpc/Support/Dtype.h"
#include "mlir/AsmParser/AsmParser.h"
#include "llvm/ADT/StringSwitch.h"

mlir::Type mpc::parseDtype(mlir::MLIRContext *context, llvm::StringRef name) {
  const llvm::StringRef spelling = llvm::StringSwitch<llvm::StringRef>(name)
#define MPC_RT_DTYPE(enumerator, value, bytes, keras, mlir, safetensors, numpy) .Case(keras, mlir)
#include "mpc-rt/dtype.inc"
#undef MPC_RT_DTYPE
                                       .Default("");
  return spelling.empty() ? mlir::Type() : mlir::parseType(spelling, context);
}
