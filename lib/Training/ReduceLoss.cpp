// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// reduce_weighted_values of keras/src/losses/loss.py.
#include "lib/Training/ReduceLoss.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;

static const StringRef kReductions[] = {"sum_over_batch_size", "mean", "sum",
                                        "mean_with_sample_weight"};

bool mpc::isReduction(StringRef name) { return llvm::is_contained(kReductions, name); }
std::string mpc::reductionNames() { return llvm::join(ArrayRef(kReductions), ", "); }

Value mpc::alignMask(Expression &e, Value mask, int64_t rank) {
  if (!mask)
    return {};
  auto type = tensorTypeOf(mask);
  SmallVector<int64_t> shape(type.getShape());
  while (int64_t(shape.size()) > rank && shape.back() == 1)
    shape.pop_back();
  if (int64_t(shape.size()) > rank)
    return {};
  if (ArrayRef(shape) == type.getShape())
    return mask;
  return ReshapeOp::create(e.builder, e.loc, type.clone(shape), mask);
}

Value mpc::reduceLoss(Expression &e, const SampleLoss &loss, Value weights, Value mask,
                      StringRef reduction, const TrainingRules &rules) {
  Value values = loss.values;
  int64_t rank = tensorTypeOf(values).getRank();
  if (!loss.hasBatch || rank == 0) {
    values = e.mul(values, e.reduceAll(ReduceKind::Mean, weights));
    return e.reduceAll(reduction == "sum" ? ReduceKind::Sum : ReduceKind::Mean, values);
  }
  Value valid = loss.mask;
  if (mask)
    valid = valid ? e.logicalAnd(valid, mask) : mask;
  weights = e.expandTo(weights, rank);
  if (valid) {
    valid = e.expandTo(e.toFloat(valid), rank);
    // Every element of the values has a mask, also where the mask has fewer dimensions.
    valid = e.mul(e.onesLike(values), valid);
  }
  Value weighted = e.mul(values, weights);
  if (valid)
    weighted = e.mul(weighted, valid);
  if (reduction == "sum")
    return e.reduceAll(ReduceKind::Sum, weighted);
  if (reduction == "mean_with_sample_weight") {
    Value divisor = e.mul(valid ? valid : e.onesLike(values), weights);
    return e.divideNoNan(e.reduceAll(ReduceKind::Sum, weighted),
                         e.reduceAll(ReduceKind::Sum, divisor));
  }
  // The mean is one of the samples whose weights are not 0.
  if (rules.isBefore23)
    weighted = e.div(
        weighted, e.reduceAll(ReduceKind::Mean,
                              e.toFloat(e.compare(ComparePredicate::NE, weights, e.constant(0)))));
  if (valid && !rules.masksStayInMeans)
    return e.divideNoNan(e.reduceAll(ReduceKind::Sum, weighted),
                         e.reduceAll(ReduceKind::Sum, valid));
  return e.reduceAll(ReduceKind::Mean, weighted);
}
