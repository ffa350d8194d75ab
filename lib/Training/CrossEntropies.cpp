// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cross-entropies as Keras computes them on TensorFlow (keras/src/losses/losses.py,
// keras/src/backend/tensorflow/nn.py), in float32. Each states here its logit form, which training
// takes when the output is a softmax or a sigmoid.
#include "lib/Training/Losses.h"

using namespace mlir;
using namespace mpc;

/// target * (1 - s) + s / classes
static Value smooth(LossInput &in, double classes) {
  Expression &e = in.e;
  double smoothing = in.loss.number("label_smoothing", 0);
  if (smoothing == 0)
    return in.target;
  return e.add(e.mul(in.target, e.constant(1 - smoothing)), e.constant(smoothing / classes));
}

/// `fromLogits` of the logits of the prediction where these are known or the prediction is meant as
/// logits; else `fromProbabilities` of the prediction.
static Value inEitherForm(LossInput &in, Value prediction, LogitsOf activation, int64_t axis,
                          bool isLogits, llvm::function_ref<Value(Value)> fromLogits,
                          llvm::function_ref<Value(Value)> fromProbabilities) {
  Expression &e = in.e;
  auto question = LogitsOp::create(
      e.builder, e.loc, prediction.getType(), RankedTensorType::get({}, e.builder.getI1Type()),
      activation, prediction,
      activation == LogitsOf::Softmax ? e.builder.getI64IntegerAttr(axis) : IntegerAttr());
  Value logits = fromLogits(question.getLogits());
  return isLogits ? logits : e.select(question.getKnown(), logits, fromProbabilities(prediction));
}

/// Element by element.
static Value binaryElements(LossInput &in, Value target, Value prediction, bool isLogits) {
  Expression &e = in.e;
  return inEitherForm(
      in, prediction, LogitsOf::Sigmoid, 0, isLogits,
      [&](Value x) {
        // softplus(x) - x * z, which is max(x, 0) - x * z + log1p(e^-|x|)
        return e.sub(e.softplus(x), e.mul(x, target));
      },
      [&](Value p) {
        p = e.clip(p, kEpsilon, 1 - kEpsilon);
        auto log = [&](Value share) {
          const double beside = in.rules.besideProbability;
          return e.log(beside == 0 ? share : e.add(share, e.constant(beside)));
        };
        Value positive = e.mul(target, log(p));
        Value negative = e.mul(e.complement(target), log(e.complement(p)));
        return e.negate(e.add(positive, negative));
      });
}

static SampleLoss binaryCrossentropy(LossInput &in) {
  Value elements =
      binaryElements(in, smooth(in, 2), in.prediction, in.loss.boolean("from_logits", false));
  return {in.e.reduce(ReduceKind::Mean, elements, {in.axis()}), Value(), in.axis() != 0};
}

static SampleLoss binaryFocalCrossentropy(LossInput &in) {
  Expression &e = in.e;
  Value target = smooth(in, 2), p = in.prediction;
  bool isLogits = in.loss.boolean("from_logits", false);
  if (isLogits)
    p = e.sigmoid(p);
  Value elements = binaryElements(in, target, p, false);
  Value right = e.add(e.mul(target, p), e.mul(e.complement(target), e.complement(p)));
  elements = e.mul(e.power(e.complement(right), e.constant(in.loss.number("gamma", 2))), elements);
  if (in.loss.boolean("apply_class_balancing", false)) {
    double alpha = in.loss.number("alpha", 0.25);
    Value weight =
        e.add(e.mul(target, e.constant(alpha)), e.mul(e.complement(target), e.constant(1 - alpha)));
    elements = e.mul(weight, elements);
  }
  return {e.reduce(ReduceKind::Mean, elements, {in.axis()}), Value(), in.axis() != 0};
}

/// Along `axis`, which the result lacks.
static Value softmaxCrossEntropy(Expression &e, Value logits, Value target, int64_t axis) {
  return SoftmaxCrossEntropyOp::create(e.builder, e.loc, e.moveToLast(logits, axis),
                                       e.moveToLast(target, axis));
}

/// p / sum(p), clipped
static Value normalised(Expression &e, Value p, int64_t axis) {
  p = e.div(p, e.reduce(ReduceKind::Sum, p, {axis}, /*keepDims=*/true));
  return e.clip(p, kEpsilon, 1 - kEpsilon);
}

static SampleLoss categoricalCrossentropy(LossInput &in) {
  Expression &e = in.e;
  int64_t axis = in.axis();
  // Keras takes the extent of the last dimension, whatever the axis.
  Value target = smooth(in, double(tensorTypeOf(in.prediction).getShape().back()));
  Value values = inEitherForm(
      in, in.prediction, LogitsOf::Softmax, axis, in.loss.boolean("from_logits", false),
      [&](Value x) { return softmaxCrossEntropy(e, x, target, axis); },
      [&](Value p) {
        Value logs = e.log(normalised(e, p, axis));
        return e.negate(e.reduce(ReduceKind::Sum, e.mul(target, logs), {axis}));
      });
  return {values, Value(), axis != 0};
}

static SampleLoss categoricalFocalCrossentropy(LossInput &in) {
  Expression &e = in.e;
  int64_t axis = in.axis();
  Value target = smooth(in, double(tensorTypeOf(in.prediction).getShape().back()));
  Value p = in.prediction;
  if (in.loss.boolean("from_logits", false))
    p = e.softmax(p, axis);
  p = normalised(e, p, axis);
  Value entropy = e.mul(e.negate(target), e.log(p));
  Value factor = e.power(e.complement(p), e.constant(in.loss.number("gamma", 2)));
  // A number for each place along the last dimension, whatever the axis.
  SmallVector<double> alpha = in.loss.numbers("alpha");
  Value weight = e.mul(factor, alpha.size() > 1 ? e.constants(alpha)
                                                : e.constant(alpha.empty() ? 0.25 : alpha.front()));
  return {e.reduce(ReduceKind::Sum, e.mul(weight, entropy), {axis}), Value(), axis != 0};
}

static std::string checkClassWeights(const KerasObject &loss, RankedTensorType prediction) {
  if (const llvm::json::Array *array = loss.config.getArray("alpha"))
    if (!llvm::all_of(*array, [](const llvm::json::Value &v) { return v.getAsNumber(); }))
      return "needs a number, or one for each class, as alpha";
  const size_t count = loss.numbers("alpha").size(), classes = prediction.getShape().back();
  if (count <= 1 || count == classes)
    return "";
  return "has " + std::to_string(count) + " numbers as alpha, but the output has " +
         std::to_string(classes) + " classes";
}

static SampleLoss sparseCategoricalCrossentropy(LossInput &in) {
  Expression &e = in.e;
  Value mask, target = in.target;
  int64_t axis = in.rank() - 1, classes = tensorTypeOf(in.prediction).getShape().back();
  bool isLogits = in.loss.boolean("from_logits", false);
  if (auto ignored = in.loss.optionalNumber("ignore_class")) {
    Type index = elementTypeOf(target);
    mask =
        e.compare(ComparePredicate::NE, target, scalarConstant(e.builder, e.loc, index, *ignored));
    target = e.select(mask, target, scalarConstant(e.builder, e.loc, index, 0));
  }
  Value hot = e.oneHot(target, classes);
  auto fromLogits = [&](Value x) { return softmaxCrossEntropy(e, x, hot, axis); };
  auto fromProbabilities = [&](Value p) {
    // TensorFlow clips and takes the logarithm, then its kernel normalises again.
    return fromLogits(e.log(e.clip(p, kEpsilon, 1 - kEpsilon)));
  };
  if (mask) {
    // Keras replaces ignored rows first, and the result is no softmax any more.
    Value values = isLogits ? fromLogits(in.prediction) : fromProbabilities(in.prediction);
    return {e.select(mask, values, e.constant(0)), mask};
  }
  return {inEitherForm(in, in.prediction, LogitsOf::Softmax, axis, isLogits, fromLogits,
                       fromProbabilities)};
}

static std::string checkLastAxis(const KerasObject &loss, RankedTensorType prediction) {
  auto axis = loss.optionalInteger("axis");
  if (!axis || *axis == -1 || *axis == prediction.getRank() - 1)
    return "";
  return "has axis " + std::to_string(*axis) + "; Keras supports only the last one";
}

/// (1 - p^q) / q of the probability of the right class.
static SampleLoss generalizedCrossEntropy(LossInput &in) {
  Expression &e = in.e;
  double q = in.loss.number("q", 0.5);
  Value hot = e.oneHot(in.target, tensorTypeOf(in.prediction).getShape().back());
  Value p = e.reduceLast(ReduceKind::Sum, e.mul(in.prediction, hot));
  return {e.div(e.complement(e.power(p, e.constant(q))), e.constant(q))};
}

static std::string checkExponent(const KerasObject &loss, RankedTensorType) {
  double q = loss.number("q", 0.5);
  return q > 0 && q < 1 ? "" : "has q outside (0, 1)";
}

ArrayRef<LossEntry> mpc::crossEntropies() {
  static const LossEntry table[] = {
      {"binary_crossentropy", TargetKind::Values, "axis from_logits label_smoothing",
       binaryCrossentropy},
      {"binary_focal_crossentropy", TargetKind::Values,
       "alpha apply_class_balancing axis from_logits gamma label_smoothing",
       binaryFocalCrossentropy},
      {"categorical_crossentropy", TargetKind::Values, "axis from_logits label_smoothing",
       categoricalCrossentropy},
      {"categorical_focal_crossentropy", TargetKind::Values,
       "alpha axis from_logits gamma label_smoothing", categoricalFocalCrossentropy,
       checkClassWeights, "alpha"},
      {"categorical_generalized_cross_entropy", TargetKind::Classes, "q", generalizedCrossEntropy,
       checkExponent},
      {"sparse_categorical_crossentropy", TargetKind::Classes, "axis from_logits ignore_class",
       sparseCategoricalCrossentropy, checkLastAxis},
  };
  return table;
}
