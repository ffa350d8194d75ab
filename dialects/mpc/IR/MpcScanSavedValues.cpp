// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The values of its steps that a scan keeps for its derivative.
#include "dialects/mpc/IR/Mpc.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mpc;

/// Whether backward bodies compute the op again.
static bool isCheap(Operation *op) {
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  return op->hasTrait<OpTrait::ConstantLike>() || op->hasTrait<OpTrait::IsTerminator>() ||
         op->hasTrait<CheaperThanStack>() ||
         (differentiable && differentiable.isCheapToRecompute());
}

/// Carried values, and results that are neither cheap nor the same in every step.
SmallVector<Value> ScanOp::getValuesToSave() {
  llvm::DenseSet<Value> varying;
  SmallVector<Value> values;
  for (Value carried : getCarried()) {
    varying.insert(carried);
    if (tensorTypeOf(carried).getRank() > 0)
      values.push_back(carried);
  }
  varying.insert(getSlices().begin(), getSlices().end());
  for (Operation &op : getBody().front().without_terminator()) {
    if (llvm::none_of(op.getOperands(), [&](Value v) { return varying.contains(v); }) &&
        op.getNumOperands() > 0)
      continue;
    for (Value result : op.getResults()) {
      varying.insert(result);
      if (!isCheap(&op) && tensorTypeOf(result).getRank() > 0)
        values.push_back(result);
    }
  }
  return values;
}

Operation *ScanOp::buildWithSavedValues(OpBuilder &builder) {
  SmallVector<Value> missing;
  SmallVector<Type> types(getResultTypes());
  for (Value value : getValuesToSave())
    if (!findStack(value)) {
      missing.push_back(value);
      types.push_back(stackType(tensorTypeOf(value), getSteps()));
    }
  auto result = ScanOp::create(builder, getLoc(), types, getInits(), getScanned(), getCaptures(),
                               getSteps(), getReverse());
  IRMapping mapping;
  getBody().cloneInto(&result.getBody(), mapping);
  for (Value value : missing)
    result.getYield().getValuesMutable().append(mapping.lookup(value));
  return result;
}
