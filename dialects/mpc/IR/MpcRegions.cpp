// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How control and values go through mpc.layer and mpc.scan, for MLIR's analyses and folds.
#include "dialects/mpc/IR/Mpc.h"

using namespace mlir;
using namespace mpc;

// ---- A layer's body runs once -------------------------------------------------------------------

OperandRange LayerOp::getEntrySuccessorOperands(RegionSuccessor) { return getOperands(); }

void LayerOp::getSuccessorRegions(RegionBranchPoint point,
                                  SmallVectorImpl<RegionSuccessor> &successors) {
  if (point.isParent())
    successors.emplace_back(&getBody(), getBody().getArguments());
  else
    successors.emplace_back(getOperation(), getResults());
}

void LayerOp::getRegionInvocationBounds(ArrayRef<Attribute>,
                                        SmallVectorImpl<InvocationBounds> &bounds) {
  bounds.emplace_back(1, 1);
}

// ---- A scan's body runs for each step -----------------------------------------------------------

/// Only what is carried goes from step to step and out as it is: slices and captures are more than
/// the operand says, and so are stacks.
OperandRange ScanOp::getEntrySuccessorOperands(RegionSuccessor) { return getInits(); }

void ScanOp::getSuccessorRegions(RegionBranchPoint point,
                                 SmallVectorImpl<RegionSuccessor> &successors) {
  // There is one step at least.
  successors.emplace_back(&getBody(), getCarried());
  if (!point.isParent())
    successors.emplace_back(getOperation(), getFinals());
}

void ScanOp::getRegionInvocationBounds(ArrayRef<Attribute>,
                                       SmallVectorImpl<InvocationBounds> &bounds) {
  const unsigned steps = unsigned(std::min<uint64_t>(getSteps(), 1u << 31));
  bounds.emplace_back(steps, steps);
}

MutableOperandRange YieldOp::getMutableSuccessorOperands(RegionSuccessor) {
  MutableOperandRange values = getValuesMutable();
  auto scan = dyn_cast<ScanOp>((*this)->getParentOp());
  return scan ? values.slice(0, std::min<unsigned>(scan.getInits().size(), values.size())) : values;
}
