// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mpc/Analysis/LoopExtent.h"

using namespace mlir;
using namespace mpc;

std::optional<BatchExtent> mpc::getLoopExtent(linalg::LinalgOp op, unsigned loop) {
  for (OpOperand &operand : op->getOpOperands())
    for (auto [position, expr] : llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr); dim && dim.getPosition() == loop)
        if (auto extent = getExtent(operand.get(), position))
          return extent;
  return std::nullopt;
}
