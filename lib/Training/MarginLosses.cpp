// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The hinge family (keras/src/losses/losses.py), in float32.
#include "lib/Training/Losses.h"

using namespace mlir;
using namespace mpc;

/// Targets that are all 0 or 1 become -1 or 1, but for old Keras.
static Value signedTarget(LossInput &in) {
  Expression &e = in.e;
  if (in.rules.isBefore23)
    return in.target;
  // |2 y - 1| is 1 for 0 and 1 alone.
  Value mapped = e.sub(e.mul(e.constant(2), in.target), e.constant(1));
  Value isBinary = e.compare(ComparePredicate::EQ, e.abs(mapped), e.constant(1));
  return e.select(e.reduceAll(ReduceKind::All, isBinary), mapped, in.target);
}

static Value margin(LossInput &in) {
  Expression &e = in.e;
  return e.maximum(e.complement(e.mul(signedTarget(in), in.prediction)), e.constant(0));
}

static SampleLoss hinge(LossInput &in) {
  return {in.e.reduceLast(ReduceKind::Mean, margin(in)), Value(), in.rank() > 1};
}

static SampleLoss squaredHinge(LossInput &in) {
  return {in.e.reduceLast(ReduceKind::Mean, in.e.square(margin(in))), Value(), in.rank() > 1};
}

static SampleLoss categoricalHinge(LossInput &in) {
  Expression &e = in.e;
  Value right = e.reduceLast(ReduceKind::Sum, e.mul(in.target, in.prediction));
  Value wrong = e.reduceLast(ReduceKind::Max, e.mul(e.complement(in.target), in.prediction));
  Value loss = e.maximum(e.add(e.sub(wrong, right), e.constant(1)), e.constant(0));
  return {loss, Value(), in.rank() > 1};
}

ArrayRef<LossEntry> mpc::marginLosses() {
  static const LossEntry table[] = {
      {"categorical_hinge", TargetKind::Values, "", categoricalHinge},
      {"hinge", TargetKind::Values, "", hinge},
      {"squared_hinge", TargetKind::Values, "", squaredHinge},
  };
  return table;
}
