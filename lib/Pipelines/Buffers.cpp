// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tensors to buffers.
#include "lib/Pipelines/CleanUp.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mpc/Buffers/Passes.h"
#include "mpc/Pipelines/Codegen.h"

using namespace mlir;
using namespace mpc;

void mpc::buildBuffersPipeline(OpPassManager &manager, Device device, int64_t bucketBytes) {
  // First, because afterwards bufferization has no function boundary to cross: state and results
  // are memrefs already, and every conflict is between values of one body.
  manager.addPass(createPassDestinations());
  // After the last CSE on tensors, which would undo it.
  manager.addPass(createSeparateFills());
  // Only empties that are inserted into larger tensors (padding, steps of scans) are left for this
  // one. It must run before any folding: a full-size insertion folds away and takes the destination
  // with it.
  manager.addNestedPass<func::FuncOp>(createPlaceInsertions());
  manager.addPass(createBufferize());
  // Copies of a buffer onto itself, dimensions of allocations, equal constants.
  cleanUp(manager);
  // After it: dimensions are those of arguments. Before buffers leave loops and ops are grouped,
  // for both of which it removes buffers.
  manager.addPass(createLowerConcatenations());
  // The plan wants lifetimes as intervals of top-level steps.
  manager.addNestedPass<func::FuncOp>(bufferization::createBufferLoopHoistingPass());
  // On allocations, before the plan: what is kept between calls shares its memory with nothing. On
  // a CPU before the groups, which would join ops on weights to those on rows.
  if (device == Device::cpu)
    manager.addPass(createPrepareWeights({device}));
  // Before the plan: what only one group touches needs no place in the arena, and what a group
  // touches must not share memory within it.
  manager.addPass(createGroupRows({device}));
  // On allocations, which share no memory yet, and after the groups, each of which is one op here.
  if (device == Device::cpu)
    manager.addPass(createParallelizeRows());
  // After the groups, each of which is one op here: kernels of their own stay.
  if (device == Device::cuda)
    manager.addPass(createPrepareWeights({device}));
  // On allocations, too: what is under way to other ranks must share memory with nothing.
  manager.addPass(createOverlapReductions({bucketBytes}));
  manager.addPass(createPlanMemory({device}));
  // The plan leaves one view and one constant per use.
  cleanUp(manager);
  manager.addPass(createVerifyBuffers());
}
