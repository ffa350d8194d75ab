// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// buffers to kernels.
#include "mlir/Transforms/Passes.h"
#include "mpc/Codegen/Passes.h"
#include "mpc/Pipelines/Codegen.h"

using namespace mlir;
using namespace mpc;

void mpc::buildKernelsPipeline(OpPassManager &manager) {
  // After memory planning: what an op reads and writes has its place, so that a kernel's arguments
  // are final, and no kernel needs memory of its own.
  manager.addPass(createConvertLinalgToMpcrtPass());
  // Constants and index arithmetic that each kernel brought along. No folding of casts happens
  // here: roundings in bodies are ops without fast-math flags.
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createVerifyKernelsPass());
}
