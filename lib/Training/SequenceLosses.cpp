// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Connectionist temporal classification (keras/src/losses/losses.py, ctc; Graves et al., ICML
// 2006), in float32. Class 0 is the blank; labels are padded with it behind their end, up to the
// number of steps, which no label sequence that can occur exceeds.
//
// The forward recursion runs over two rows of states: `blanks` (before, between and behind the
// labels) and `labels`. A step comes from the same state, from the one before, and into a label
// also from the label before, unless the two are equal.
#include "lib/Training/Losses.h"

using namespace mlir;
using namespace mpc;

/// The logarithm of what cannot occur: finite, so that no derivative is inf - inf.
static constexpr double kImpossible = -1e30;

/// `x` [batch, extent] with `low` states before and `high` behind that cannot occur.
static Value extend(Expression &e, Value x, uint64_t low, uint64_t high) {
  auto type = tensorTypeOf(x);
  int64_t extent = type.getDimSize(1) + int64_t(low + high);
  auto extended = RankedTensorType::get({type.getDimSize(0), extent}, type.getElementType());
  return PadOp::create(e.builder, e.loc, extended, x, uint64_t(1), low, high, APFloat(kImpossible));
}

/// `x` one place later along dimension 1; what cannot occur comes first.
static Value later(Expression &e, Value x) {
  return extend(e, e.slice(x, 1, 0, tensorTypeOf(x).getDimSize(1) - 1), 1, 0);
}

/// The same values for every row of `like`.
static Value everywhere(Expression &e, Value like, ArrayRef<double> values) {
  Value zero = e.mul(e.toFloat(e.slice(like, 1, 0, 1)), e.constant(0));
  return e.add(zero, e.constants(values));
}

/// log p(blank) [batch, steps, 1] and log p(label) [batch, steps, labels] of every step.
static std::pair<Value, Value> observe(LossInput &in, int64_t classes) {
  Expression &e = in.e;
  Value logs = LogSoftmaxOp::create(e.builder, e.loc, in.prediction, uint64_t(2));
  Value labels =
      ContractOp::create(e.builder, e.loc, logs, e.oneHot(in.target, classes), {0}, {0}, {2}, {2});
  return {e.slice(logs, 2, 0, 1), labels};
}

/// 0 where label s may follow label s - 1 without a blank between them.
static Value skipPenalty(LossInput &in) {
  Expression &e = in.e;
  int64_t count = tensorTypeOf(in.target).getDimSize(1);
  if (count == 1)
    return everywhere(e, in.target, {kImpossible});
  Value differs = e.compare(ComparePredicate::NE, e.slice(in.target, 1, 1, count - 1),
                            e.slice(in.target, 1, 0, count - 1));
  Value penalty = e.select(differs, e.constant(0), e.constant(kImpossible));
  return extend(e, penalty, 1, 0);
}

/// The states after the last step.
static ScanOp recur(LossInput &in, Value blanks, Value labels, int64_t classes) {
  auto [blankLogs, labelLogs] = observe(in, classes);
  Expression &outside = in.e;
  OpBuilder &builder = outside.builder;
  Value mayNotSkip = skipPenalty(in);
  int64_t steps = tensorTypeOf(in.prediction).getDimSize(1);
  SmallVector<Value> inits{blanks, labels}, scanned{blankLogs, labelLogs}, captures{mayNotSkip};
  auto scan = ScanOp::create(builder, outside.loc, ValueRange(inits).getTypes(), inits, scanned,
                             captures, steps, /*reverse=*/false);
  SmallVector<Type> types{blanks.getType(), labels.getType(),
                          ScanOp::sliceType(tensorTypeOf(blankLogs)),
                          ScanOp::sliceType(tensorTypeOf(labelLogs)), mayNotSkip.getType()};
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&scan.getBody(), {}, types,
                                    SmallVector<Location>(types.size(), outside.loc));
  Expression e{builder, outside.loc};
  Value blank = body->getArgument(0), label = body->getArgument(1);
  int64_t count = tensorTypeOf(label).getDimSize(1);
  Value penalty = body->getArgument(4), before = count > 1 ? later(e, label) : penalty;
  Value skipped = e.add(before, penalty);
  Value nextBlank = e.add(e.logSumExp({blank, extend(e, label, 1, 0)}), body->getArgument(2));
  Value nextLabel =
      e.add(e.logSumExp({label, e.slice(blank, 1, 0, count), skipped}), body->getArgument(3));
  YieldOp::create(builder, outside.loc, ValueRange{nextBlank, nextLabel});
  return scan;
}

/// Element `place` [batch] of each row of `x` [batch, extent].
static Value pick(Expression &e, Value x, Value place) {
  Value hot = e.oneHot(place, tensorTypeOf(x).getDimSize(1));
  return e.reduceLast(ReduceKind::Sum, e.mul(x, hot));
}

static SampleLoss connectionistTemporalClassification(LossInput &in) {
  Expression &e = in.e;
  Type index = e.builder.getI32Type();
  int64_t classes = tensorTypeOf(in.prediction).getDimSize(2);
  Value isLabel =
      e.compare(ComparePredicate::NE, in.target, scalarConstant(e.builder, e.loc, index, 0));
  Value length = e.reduceLast(ReduceKind::Sum, e.toFloat(isLabel));

  // All of the probability is before the first label.
  int64_t count = tensorTypeOf(in.target).getDimSize(1);
  SmallVector<double> blankStart(count + 1, kImpossible), labelStart(count, kImpossible);
  blankStart.front() = 0;
  Value blanks = everywhere(e, in.target, blankStart);
  Value labels = everywhere(e, in.target, labelStart);
  ScanOp scan = recur(in, blanks, labels, classes);

  Value behind = pick(e, scan.getFinals()[0], e.cast(length, index));
  Value last = pick(e, extend(e, scan.getFinals()[1], 1, 0), e.cast(length, index));
  return {e.negate(e.logSumExp({behind, last}))};
}

static std::string checkLogits(const KerasObject &, RankedTensorType prediction) {
  if (int64_t rank = prediction.getRank(); rank != 3)
    return "needs logits of shape (batch, steps, classes), but the output has " +
           std::to_string(rank) + " dimensions";
  return "";
}

ArrayRef<LossEntry> mpc::sequenceLosses() {
  static const LossEntry table[] = {
      {"ctc", TargetKind::Classes, "", connectionistTemporalClassification, checkLogits}};
  return table;
}
