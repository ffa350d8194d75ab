// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the rows that an embedding's gradient is made of, and sums their powers.
#include "lib/Autodiff/GradientParts.h"

using namespace mlir;
using namespace mpc;

SmallVector<GradientPart> mpc::findParts(Value gradient) {
  SmallVector<GradientPart> parts;
  SmallVector<Value> open{gradient};
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (auto sum = value.getDefiningOp<AddOp>()) { // one layer that is called several times
      open.append({sum.getRhs(), sum.getLhs()});
      continue;
    }
    auto rows = value.getDefiningOp<ScatterAddOp>();
    if (!rows || rows.getAxis() != 0 || rows.getBatchDims() != 0)
      return {};
    parts.push_back({rows, rows.getUpdates()});
  }
  return parts;
}

Value mpc::findTouched(const Arithmetic &a, ArrayRef<GradientPart> parts) {
  Value total;
  for (GradientPart part : parts) {
    Value ones = BroadcastLikeOp::create(a.builder, a.loc, a.constant(1), part.values);
    Value count =
        ScatterAddOp::create(a.builder, a.loc, part.sum.getIndices(), ones, part.sum.getLike(),
                             part.sum.getAxis(), part.sum.getBatchDims());
    total = total ? a.add(total, count) : count;
  }
  return total ? a.compare(ComparePredicate::GT, total, a.constant(0)) : Value();
}

Value mpc::sumPowers(const Arithmetic &a, ArrayRef<GradientPart> parts, unsigned power) {
  Value total;
  for (GradientPart part : parts) {
    Value values = a.widen(part.values);
    if (power > 0)
      values = power == 1 ? Value(AbsOp::create(a.builder, a.loc, values)) : a.mul(values, values);
    Value sum =
        ScatterAddOp::create(a.builder, a.loc, part.sum.getIndices(), values, part.sum.getLike(),
                             part.sum.getAxis(), part.sum.getBatchDims());
    total = total ? a.add(total, sum) : sum;
  }
  return total;
}
