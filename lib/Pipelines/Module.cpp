// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kernels to the LLVM dialect.
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/Passes.h"
#include "mpc/Conversion/Passes.h"
#include "mpc/Pipelines/Codegen.h"

using namespace mlir;
using namespace mpc;

void mpc::buildLLVMPipeline(OpPassManager &manager) {
  // Not earlier: the passes of the phase kernels ask what a loop of the host reads and writes.
  // First here: what is shared is expanded and lowered once.
  manager.addPass(createShareHostLoops());
  // Not earlier: while a function is one op, passes and people can read the kernels.
  manager.addPass(createExpandMath());
  // Last: what it makes of float16 and bfloat16 must not be folded any more by arith's rules on
  // float types.
  manager.addPass(createConvertMpcrtToLLVM());
  manager.addNestedPass<LLVM::LLVMFuncOp>(createCSEPass());
  manager.addPass(createVerifyModule());
}
