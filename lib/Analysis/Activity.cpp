// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Activity analysis: varied values forwards, useful values backwards.
#include "mpc/Analysis/Activity.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mpc;

static bool isFloating(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

Activity::Activity(Block &block, ArrayRef<Value> independents, Value dependent) {
  llvm::DenseSet<Value> varied(independents.begin(), independents.end());
  for (Operation &op : block)
    if (llvm::any_of(op.getOperands(), [&](Value operand) { return varied.contains(operand); }))
      for (Value result : op.getResults())
        if (isFloating(result))
          varied.insert(result);
  if (varied.contains(dependent))
    active.insert(dependent);
  for (Operation &op : llvm::reverse(block))
    if (llvm::any_of(op.getResults(), [&](Value result) { return active.contains(result); }))
      for (Value operand : op.getOperands())
        if (varied.contains(operand))
          active.insert(operand);
}
