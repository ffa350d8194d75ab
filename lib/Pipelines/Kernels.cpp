// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// buffers to kernels.
#include "mlir/Transforms/Passes.h"
#include "mpc/Codegen/Passes.h"
#include "mpc/Pipelines/Codegen.h"

using namespace mlir;
using namespace mpc;

void mpc::buildKernelsPipeline(OpPassManager &manager, bool isOnDevice) {
  // After memory planning: what an op reads and writes has its place, so that a kernel's arguments
  // are final, and no kernel needs memory of its own.
  ConvertLinalgToMpcrtPassOptions convert;
  convert.target = isOnDevice ? "cuda" : "cpu";
  manager.addPass(createConvertLinalgToMpcrtPass(convert));
  // Constants and index arithmetic that each kernel brought along. No folding of casts happens
  // here: roundings in bodies are ops without fast-math flags.
  manager.addNestedPass<func::FuncOp>(createCanonicalizerPass());
  manager.addNestedPass<func::FuncOp>(createCSEPass());
  if (isOnDevice) {
    // After CSE: what is known on the host, addresses and extents, is then one value of it.
    manager.addPass(createOutlineHostCodePass());
    manager.addNestedPass<func::FuncOp>(createCanonicalizerPass());
    manager.addNestedPass<func::FuncOp>(createCSEPass());
    // Last: whatever became a launch on the way counts.
    manager.addPass(createGatherLaunchesPass());
  } else {
    // After CSE: equal views of one buffer are then one value.
    manager.addPass(createInterleaveLaunchesPass());
    // After it: only now is known whose results nobody stores.
    manager.addPass(createCompactArenaPass());
    // Last: what became part of a product is no launch any more.
    manager.addPass(createJoinLaunchesPass());
  }
  manager.addPass(createVerifyKernelsPass());
}
