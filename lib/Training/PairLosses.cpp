// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Losses that compare the samples of a batch with each other, in float32. The batch is a number
// here: a matrix of all pairs has it twice.
#include "lib/Training/Losses.h"

#include <limits>

using namespace mlir;
using namespace mpc;

/// log(sum of e^x) along dimension 1 over the pairs in `mask`; -inf where a row has none.
static Value logSumOver(Expression &e, Value mask, Value x) {
  Value absent = e.constant(-std::numeric_limits<double>::infinity());
  return e.reduce(ReduceKind::Sum, e.logSumExp(e.select(mask, x, absent), {1}), {1});
}

/// Circle loss of L2-normalised embeddings (Sun et al., CVPR 2020; keras/src/losses/losses.py,
/// circle): softplus of the log-sums over pairs of equal and of different labels. Samples without
/// loss do not count.
static SampleLoss circle(LossInput &in) {
  Expression &e = in.e;
  int64_t batch = tensorTypeOf(in.prediction).getDimSize(0);
  double gamma = in.loss.number("gamma", 80), margin = in.loss.number("margin", 0.4);
  auto matrixOf = [&](Value labels, ArrayRef<int64_t> shape) -> Value {
    return ReshapeOp::create(e.builder, e.loc, tensorTypeOf(labels).clone(shape), labels);
  };
  auto pairs = [&](ComparePredicate predicate, Value labels) {
    return e.compare(predicate, matrixOf(labels, {batch, 1}), matrixOf(labels, {1, batch}));
  };
  Value positive = pairs(ComparePredicate::EQ, in.target);
  Value negative = pairs(ComparePredicate::NE, in.target);
  if (in.loss.boolean("remove_diagonal", true)) {
    auto numbers = llvm::to_vector(llvm::seq<int32_t>(0, int32_t(batch)));
    auto type = RankedTensorType::get({batch}, e.builder.getI32Type());
    Value sample = ConstantOp::create(e.builder, e.loc,
                                      DenseElementsAttr::get(type, ArrayRef<int32_t>(numbers)));
    positive = e.logicalAnd(positive, pairs(ComparePredicate::NE, sample));
  }
  Value similarity = ContractOp::create(e.builder, e.loc, in.prediction, in.prediction, {1}, {1});
  Value distance = e.maximum(e.complement(similarity), e.constant(0));

  // Keras zeroes the weights of pairs that do not count; the log-sums leave those out anyway.
  Value nearness = e.maximum(e.add(e.constant(margin), distance), e.constant(0));
  Value farness = e.maximum(e.sub(e.constant(1 + margin), distance), e.constant(0));
  Value pull = e.mul(e.mul(e.constant(-gamma), nearness), e.sub(e.constant(margin), distance));
  Value push = e.mul(e.mul(e.constant(gamma), farness), e.sub(e.constant(1 - margin), distance));
  Value loss = e.softplus(e.add(logSumOver(e, positive, pull), logSumOver(e, negative, push)));
  return {loss, e.compare(ComparePredicate::GT, loss, e.constant(0))};
}

static std::string checkCircle(const KerasObject &, RankedTensorType prediction) {
  if (int64_t rank = prediction.getRank(); rank != 2)
    return "needs embeddings of shape (batch, width), but the output has " + std::to_string(rank) +
           " dimensions";
  if (prediction.isDynamicDim(0))
    return "compares every pair of samples of a batch, whose size must be known; compile with "
           "--batch=N";
  return "";
}

ArrayRef<LossEntry> mpc::pairLosses() {
  static const LossEntry table[] = {
      {"circle", TargetKind::Labels, "gamma margin remove_diagonal", circle, checkCircle}};
  return table;
}
