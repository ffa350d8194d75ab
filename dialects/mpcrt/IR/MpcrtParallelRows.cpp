// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpcrt.parallel_rows: verifier.
#include "dialects/mpcrt/IR/Mpcrt.h"

using namespace mlir;
using namespace mpc::mpcrt;

LogicalResult ParallelRowsOp::verify() {
  WalkResult result = getBody().walk([&](Operation *op) -> WalkResult {
    // Only these ops of the dialect have a form for a part of the rows.
    if (op->getDialect() == (*this)->getDialect() && !isa<ContractOp, LaunchOp, RowsOp, ViewOp>(op))
      return op->emitOpError("in mpcrt.parallel_rows has no form for a part of the rows");
    auto contract = dyn_cast<ContractOp>(op);
    if (!contract)
      return WalkResult::advance();
    if (!isa<MemRefType>(contract.getOut().getType()) || !contract.isByRows())
      return contract.emitOpError("in mpcrt.parallel_rows multiplies rows of a floating matrix; "
                                  "transpose_lhs, largest, blocks, bits, sums and gelu are not for "
                                  "rows");
    for (Value shared : {contract.getRhs(), contract.getBias()})
      if (shared && getBody().isAncestor(shared.getParentRegion()))
        return contract.emitOpError("in mpcrt.parallel_rows has its right operand and its bias "
                                    "from outside: they are the same for all steps");
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
