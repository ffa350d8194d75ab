// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Conversion/LinalgToMpcrt/SummedProducts.h"

#include "lib/Conversion/LinalgToMpcrt/UpdatesOfRanks.h"
#include "mpc/Analysis/EntryRole.h"

using namespace mlir;
using namespace mpc;

static bool isSumForResults(mpcrt::AllReduceOp op) {
  return op.getKind() == ReduceKind::Sum && op.getByElements() && !op.getInBfloat16() &&
         !op.getAlways();
}

/// Whether a part of a batch whose results nobody reads runs nothing of it.
static bool isLimited(mpcrt::LaunchOp launch) {
  return launch.getCount().getDefiningOp<mpcrt::OwnPartOp>() != nullptr;
}

/// Whether the product's result goes into one sum of all of it, and whatever touches it behind that
/// reads the sum for results.
static bool isReadAsSum(mpcrt::ContractOp op) {
  mpcrt::AllReduceOp sum;
  for (OpOperand *touch : findTouches(op.getOut())) {
    Operation *user = touch->getOwner();
    if (user == op) {
      if (touch->get() != op.getOut())
        return false;
      continue;
    }
    if (auto reduction = dyn_cast<mpcrt::AllReduceOp>(user)) {
      if (sum || reduction.getOut() != op.getOut() || !isSumForResults(reduction) ||
          reduction->getBlock() != op->getBlock())
        return false;
      sum = reduction;
      continue;
    }
    auto launch = dyn_cast<mpcrt::LaunchOp>(user);
    if (!isa<mpcrt::WaitForRanksOp>(user) && !(launch && isLimited(launch)))
      return false;
  }
  if (!sum || !op->isBeforeInBlock(sum))
    return false;
  return llvm::none_of(findTouches(op.getOut()), [&](OpOperand *touch) {
    Operation *user = op->getBlock()->findAncestorOpInBlock(*touch->getOwner());
    return user != op && user != sum && (!user || user->isBeforeInBlock(sum));
  });
}

void mpc::markSummedProducts(ModuleOp module) {
  func::FuncOp entry = findEntry(module, EntryRole::TrainBackward);
  if (!entry)
    return;
  // Parts have to come to it all, or none: not in a loop or a branch.
  for (auto product : entry.getOps<mpcrt::ContractOp>())
    if (product.isGradientOfWeights() && isReadAsSum(product))
      product.setSummedByParts(true);
}
