// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// buffers to kernels.
#include "lib/Pipelines/CleanUp.h"
#include "mpc/Conversion/Passes.h"
#include "mpc/Numerics/Trace/Passes.h"
#include "mpc/Pipelines/Codegen.h"

using namespace mlir;
using namespace mpc;

void mpc::buildKernelsPipeline(OpPassManager &manager, Device device, int64_t bucketBytes,
                               bool watched) {
  // After memory planning: what an op reads and writes has its place, so that a kernel's arguments
  // are final, and no kernel needs memory of its own.
  manager.addPass(createConvertLinalgToMpcrt({device}));
  // Constants and index arithmetic that each kernel brought along. No folding of casts happens
  // here: roundings in bodies are ops without fast-math flags.
  cleanUp(manager);
  if (device == Device::cuda) {
    // After CSE: what is known on the host, addresses and extents, is then one value of it.
    manager.addPass(createOutlineHostCode());
    cleanUp(manager);
    // After it, so that it gathers every op that has become a launch.
    manager.addPass(createGatherLaunches());
    // After it, so that more of them follow each other.
    manager.addPass(createMergeLaunches());
    cleanUp(manager);
    // Behind both, as below. The copies that it makes of weights are launches on a device, also the
    // small ones.
    if (watched) {
      manager.addPass(createWatchStep());
      manager.addPass(createConvertLinalgToMpcrt({device}));
      manager.addPass(createOutlineHostCode());
    }
    // Last: what is one launch of several, or watched, is known.
    manager.addPass(createOrderLaunches());
  } else {
    // After CSE: equal views of one buffer are then one value.
    manager.addPass(createInterleaveLaunches());
    // After it: only now is known whose results nobody stores.
    manager.addPass(createCompactArena());
    // Last: what became part of a product is no launch any more.
    manager.addPass(createJoinLaunches());
    // After it: a launch of a part counts what only the runtime knows.
    manager.addPass(createShardUpdates({bucketBytes}));
    // Behind all of them, so that what is watched is the step and no other form of it.
    if (watched)
      manager.addPass(createWatchStep());
  }
  manager.addPass(createVerifyKernels());
}
