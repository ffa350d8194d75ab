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
  // Before the plan: what only one group touches needs no place in the arena, and what a group
  // touches must not share memory within it.
  manager.addPass(createGroupRows({device}));
  // On allocations, which share no memory yet, and after the groups, each of which is one op here.
  if (device == Device::cpu)
    manager.addPass(createParallelizeRows());
  // On allocations, too, after the groups, whose ops stay; before the plan, because what is kept
  // between calls shares its memory with nothing.
  manager.addPass(createPrepareWeights({device}));
  // On allocations, too: what is under way to other ranks must share memory with nothing.
  manager.addPass(createOverlapReductions({bucketBytes}));
  manager.addPass(createPlanMemory());
  // The plan leaves one view and one constant per use.
  cleanUp(manager);
  manager.addPass(createVerifyBuffers());
}
