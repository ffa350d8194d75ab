// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Losses as Keras computes them on TensorFlow (keras/src/losses/losses.py, keras/src/backend/
// tensorflow/nn.py), in float32.
#include "lib/Training/Losses.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

using namespace mlir;
using namespace mpc;

/// keras.config.epsilon()
static constexpr double kEpsilon = 1e-7;

static int64_t lastExtent(Value value) { return tensorTypeOf(value).getShape().back(); }

static SampleLoss meanSquaredError(Expression &e, const KerasObject &, Value target,
                                   Value prediction) {
  Value difference = e.sub(prediction, target);
  return {e.reduceLast(ReduceKind::Mean, e.mul(difference, difference)), Value()};
}

static SampleLoss meanAbsoluteError(Expression &e, const KerasObject &, Value target,
                                    Value prediction) {
  return {e.reduceLast(ReduceKind::Mean, e.abs(e.sub(prediction, target))), Value()};
}

/// target * (1 - s) + s / classes
static Value smooth(Expression &e, Value target, double smoothing, double classes) {
  if (smoothing == 0)
    return target;
  return e.add(e.mul(target, e.constant(1 - smoothing)), e.constant(smoothing / classes));
}

static SampleLoss binaryCrossentropy(Expression &e, const KerasObject &loss, Value target,
                                     Value prediction) {
  target = smooth(e, target, loss.number("label_smoothing", 0), 2);
  if (loss.boolean("from_logits", false)) {
    // softplus(x) - x * z, which is max(x, 0) - x * z + log1p(e^-|x|)
    Value softplus = SoftplusOp::create(e.builder, e.loc, prediction);
    return {e.reduceLast(ReduceKind::Mean, e.sub(softplus, e.mul(prediction, target))), Value()};
  }
  Value p = e.clip(prediction, kEpsilon, 1 - kEpsilon);
  Value one = e.constant(1);
  Value positive = e.mul(target, e.log(p));
  Value negative = e.mul(e.sub(one, target), e.log(e.sub(one, p)));
  return {e.reduceLast(ReduceKind::Mean, e.negate(e.add(positive, negative))), Value()};
}

static SampleLoss categoricalCrossentropy(Expression &e, const KerasObject &loss, Value target,
                                          Value prediction) {
  target = smooth(e, target, loss.number("label_smoothing", 0), lastExtent(prediction));
  if (loss.boolean("from_logits", false))
    return {SoftmaxCrossEntropyOp::create(e.builder, e.loc, prediction, target), Value()};
  Value p = e.div(prediction, e.reduceLast(ReduceKind::Sum, prediction, /*keepDims=*/true));
  p = e.clip(p, kEpsilon, 1 - kEpsilon);
  return {e.negate(e.reduceLast(ReduceKind::Sum, e.mul(target, e.log(p)))), Value()};
}

static SampleLoss sparseCategoricalCrossentropy(Expression &e, const KerasObject &loss,
                                                Value target, Value prediction) {
  Value mask;
  if (std::optional<double> ignored = loss.optionalNumber("ignore_class")) {
    Type index = elementTypeOf(target);
    Value sentinel = scalarConstant(e.builder, e.loc, index, *ignored);
    mask = e.compare(ComparePredicate::NE, target, sentinel);
    target = e.select(mask, target, scalarConstant(e.builder, e.loc, index, 0));
  }
  // TensorFlow clips and takes the logarithm, then its kernel normalises again.
  Value logits = prediction;
  if (!loss.boolean("from_logits", false))
    logits = e.log(e.clip(prediction, kEpsilon, 1 - kEpsilon));
  Value values = SoftmaxCrossEntropyOp::create(e.builder, e.loc, logits,
                                               e.oneHot(target, lastExtent(prediction)));
  if (mask)
    values = e.select(mask, values, e.constant(0));
  return {values, mask};
}

static const std::map<std::string, LossEntry, std::less<>> &losses() {
  static const std::map<std::string, LossEntry, std::less<>> table = {
      {"binary_crossentropy", {false, binaryCrossentropy}},
      {"categorical_crossentropy", {false, categoricalCrossentropy}},
      {"mean_absolute_error", {false, meanAbsoluteError}},
      {"mean_squared_error", {false, meanSquaredError}},
      {"sparse_categorical_crossentropy", {true, sparseCategoricalCrossentropy}},
  };
  return table;
}

const LossEntry *mpc::lookupLoss(StringRef name) {
  auto it = losses().find(std::string(name));
  return it == losses().end() ? nullptr : &it->second;
}

std::string mpc::supportedLosses() {
  SmallVector<StringRef> names;
  for (const auto &entry : losses())
    names.push_back(entry.first);
  return llvm::join(names, ", ");
}
