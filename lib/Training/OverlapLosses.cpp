// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Overlap of segmentations: Dice and Tversky (keras/src/losses/losses.py), in float32.
#include "lib/Training/Losses.h"

using namespace mlir;
using namespace mpc;

namespace {
/// Sums over the config's `axis`: a number, a list, or everything when it is null.
struct Overlap {
  explicit Overlap(LossInput &in) : e(in.e) {
    for (double axis : in.loss.numbers("axis"))
      axes.push_back(axis < 0 ? int64_t(axis) + in.rank() : int64_t(axis));
    if (axes.empty())
      axes = llvm::to_vector(llvm::seq<int64_t>(0, in.rank()));
    llvm::sort(axes);
    axes.erase(llvm::unique(axes), axes.end());
  }

  Value sum(Value value) { return e.reduce(ReduceKind::Sum, value, axes); }
  SampleLoss loss(Value share) { return {e.complement(share), Value(), axes.front() != 0}; }

  Expression &e;
  SmallVector<int64_t> axes;
};
} // namespace

static SampleLoss dice(LossInput &in) {
  Expression &e = in.e;
  Overlap overlap(in);
  Value both = e.mul(e.constant(2), overlap.sum(e.mul(in.target, in.prediction)));
  Value all =
      e.add(e.add(overlap.sum(in.target), overlap.sum(in.prediction)), e.constant(kEpsilon));
  return overlap.loss(e.div(both, all));
}

static SampleLoss tversky(LossInput &in) {
  Expression &e = in.e;
  Overlap overlap(in);
  Value both = overlap.sum(e.mul(in.target, in.prediction));
  Value onlyTarget = overlap.sum(e.mul(e.complement(in.prediction), in.target));
  Value onlyPrediction = overlap.sum(e.mul(in.prediction, e.complement(in.target)));
  Value all = e.add(both, e.mul(onlyTarget, e.constant(in.loss.number("alpha", 0.5))));
  all = e.add(all, e.mul(onlyPrediction, e.constant(in.loss.number("beta", 0.5))));
  return overlap.loss(e.div(both, e.add(all, e.constant(kEpsilon))));
}

ArrayRef<LossEntry> mpc::overlapLosses() {
  static const LossEntry table[] = {
      {"dice", TargetKind::Values, "axis", dice, nullptr, "axis"},
      {"tversky", TargetKind::Values, "alpha axis beta", tversky, nullptr, "axis"},
  };
  return table;
}
