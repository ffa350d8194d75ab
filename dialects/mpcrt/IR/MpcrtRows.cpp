// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpcrt.rows: verifier.
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mpc::mpcrt;

LogicalResult RowsOp::verify() {
  if (static_cast<int64_t>(getLoops()) < 1)
    return emitOpError() << "loops must be at least 1, but is " << getLoops();
  for (Operation &op : getBody().front()) {
    if (isa<memref::AllocaOp>(op))
      continue;
    auto structured = dyn_cast<linalg::GenericOp>(op);
    if (!structured || !structured.hasPureBufferSemantics())
      return emitOpError() << "holds linalg.generic ops on buffers and memref.alloca only, but got "
                           << op.getName();
    auto iterators = structured.getIteratorTypesArray();
    if (iterators.size() < getLoops() ||
        !llvm::all_of(ArrayRef(iterators).take_front(getLoops()),
                      [](auto type) { return type == utils::IteratorType::parallel; }))
      return structured.emitOpError()
             << "in mpcrt.rows must have " << getLoops() << " parallel loops first";
  }
  return success();
}
