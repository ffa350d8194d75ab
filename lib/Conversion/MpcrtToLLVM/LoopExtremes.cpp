// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The largest or smallest value of a loop, such as softmax's of a row. Upstream expands it into two
// comparisons and selections, in which LLVM's vectorizer sees no reduction: such a loop ran one
// element at a time.
#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

/// Whether the op's result is a value that the loop around it carries, made from what it carried.
static bool isReduction(Operation *op) {
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  if (!loop || !op->hasOneUse() || *op->user_begin() != loop.getBody()->getTerminator())
    return false;
  unsigned carried = op->use_begin()->getOperandNumber();
  return llvm::is_contained(op->getOperands(), loop.getRegionIterArg(carried)) &&
         loop.getRegionIterArg(carried).hasOneUse();
}

void mpc::lowerLoopExtremes(ModuleOp module) {
  IRRewriter rewriter(module.getContext());
  // NaN wins as in arith; which of two zeros is larger has never been promised.
  constexpr auto flags = LLVM::FastmathFlags::nsz;
  module.walk([&](Operation *op) {
    if (!isa<arith::MaximumFOp, arith::MinimumFOp>(op) || !isReduction(op))
      return;
    rewriter.setInsertionPoint(op);
    Value a = op->getOperand(0), b = op->getOperand(1);
    if (isa<arith::MaximumFOp>(op))
      rewriter.replaceOpWithNewOp<LLVM::MaximumOp>(op, a, b, flags);
    else
      rewriter.replaceOpWithNewOp<LLVM::MinimumOp>(op, a, b, flags);
  });
}
