// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops whose elements follow each other become one, for which no index is a quotient.
#include "lib/Conversion/LinalgToMpcrt/CollapseLoops.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mpc;

/// Whether the loops of each group are one loop: they follow each other in all that they run over.
static bool areCollapsible(linalg::GenericOp op, ArrayRef<ReassociationIndices> groups) {
  return !op.hasIndexSemantics() &&
         llvm::all_of(op.getIndexingMapsArray(),
                      [](AffineMap map) { return map.isProjectedPermutation(); }) &&
         linalg::areDimSequencesPreserved(op.getIndexingMapsArray(), groups) &&
         llvm::all_of(op.getOperandTypes(), [](Type type) {
           auto buffer = dyn_cast<MemRefType>(type);
           return !buffer || buffer.getLayout().isIdentity();
         });
}

/// Replaces the op by what `rewrite` makes of it; the op stays where that makes nothing.
static linalg::GenericOp
replaceBy(linalg::GenericOp op,
          llvm::function_ref<FailureOr<linalg::LinalgOp>(IRRewriter &)> rewrite) {
  IRRewriter rewriter(op.getContext());
  rewriter.setInsertionPoint(op);
  FailureOr<linalg::LinalgOp> made = rewrite(rewriter);
  if (failed(made))
    return op;
  rewriter.eraseOp(op);
  return cast<linalg::GenericOp>(made->getOperation());
}

/// The op with one loop for each group; the op itself where there is no such one.
static linalg::GenericOp collapse(linalg::GenericOp op, ArrayRef<ReassociationIndices> groups) {
  return replaceBy(op, [&](IRRewriter &rewriter) -> FailureOr<linalg::LinalgOp> {
    auto collapsed = linalg::collapseOpIterationDims(op, groups, rewriter);
    if (failed(collapsed))
      return failure();
    return collapsed->collapsedOp;
  });
}

linalg::GenericOp mpc::dropUnitLoops(linalg::GenericOp op) {
  // Sums keep their loops, from which the order of what is added follows. A scalar has none.
  if (op.getNumLoops() == 0 || op.getNumReductionLoops() != 0 || op.hasIndexSemantics())
    return op;
  const SmallVector<int64_t> extents = op.getStaticLoopRanges();
  const bool countsOnce = llvm::all_equal(extents) && extents.front() == 1;
  linalg::ControlDropUnitDims control;
  control.controlFn = [&](Operation *) {
    // A launch counts something: of loops of one iteration one stays.
    return llvm::to_vector(llvm::seq<unsigned>(countsOnce ? 1 : 0, op.getNumLoops()));
  };
  return replaceBy(op, [&](IRRewriter &rewriter) -> FailureOr<linalg::LinalgOp> {
    auto dropped = linalg::dropUnitDims(rewriter, op, control);
    if (failed(dropped))
      return failure();
    return cast<linalg::LinalgOp>(dropped->resultOp.getOperation());
  });
}

linalg::GenericOp mpc::collapseSums(linalg::GenericOp op) {
  SmallVector<unsigned> sums;
  op.getReductionDims(sums);
  const unsigned first = sums.front();
  SmallVector<ReassociationIndices> loops;
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
    if (loop > first && llvm::is_contained(sums, loop))
      loops.back().push_back(loop);
    else
      loops.push_back({loop});
  const bool isInOrder = sums.back() - first + 1 == sums.size();
  return isInOrder && areCollapsible(op, loops) ? collapse(op, loops) : op;
}

linalg::GenericOp mpc::collapseLaunched(linalg::GenericOp op, ArrayRef<unsigned> launched) {
  SmallVector<ReassociationIndices> loops;
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop) {
    const bool bothCount =
        loop > 0 && llvm::is_contained(launched, loop - 1) && llvm::is_contained(launched, loop);
    if (bothCount) {
      loops.back().push_back(loop);
      if (areCollapsible(op, loops.back()))
        continue;
      loops.back().pop_back();
    }
    loops.push_back({loop});
  }
  return loops.size() < op.getNumLoops() ? collapse(op, loops) : op;
}
