// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One function per activation, and the table of their names. Where two operands tie, the operand
// order of minimum and maximum decides who gets the gradient: as in TensorFlow's kernels.
#include "lib/Import/Keras/ActivationFunctions.h"

#include "dialects/mpc/IR/Gelu.h"
#include "lib/Import/Keras/LayerRegistry.h"

#include "llvm/ADT/StringExtras.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using B = ValueBuilder;

Value linear(B &, Value x) { return x; }
Value relu(B &b, Value x) { return b.make<ReluOp>(x); }

/// A tie with 6 belongs to the constant: the gradient of relu6 is zero there.
Value relu6(B &b, Value x) { return b.make<MinimumOp>(b.makeConstant(6.0), relu(b, x)); }

Value leakyRelu(B &b, Value x) { return applyLeakyRelu(b, x, 0.2); }
Value elu(B &b, Value x) { return applyElu(b, x, 1.0); }

/// exp(x) - 1 as two roundings, as TensorFlow's elu and selu have it; the minimum keeps the branch
/// that select drops finite, whose gradient would otherwise be 0 * inf.
Value expMinusOne(B &b, Value x) {
  Value negative = b.make<MinimumOp>(x, b.makeConstant(0.0));
  return b.make<SubtractOp>(b.make<ExpOp>(negative), b.makeConstant(1.0));
}

Value selu(B &b, Value x) {
  const double scale = 1.0507009873554804934193349852946;
  const double scaleAlpha = 1.7580993408473768599402175208123;
  Value negative = b.make<MultiplyOp>(expMinusOne(b, x), b.makeConstant(scaleAlpha));
  Value positive = b.make<MultiplyOp>(x, b.makeConstant(scale));
  return b.makeSelect(b.makeCompare(ComparePredicate::LT, x, b.makeConstant(0.0)), negative,
                      positive);
}

Value celu(B &b, Value x) { return applyCelu(b, x, 1.0); }

Value sigmoid(B &b, Value x) { return b.make<SigmoidOp>(x); }
Value silu(B &b, Value x) { return b.make<MultiplyOp>(x, sigmoid(b, x)); }
Value tanhOf(B &b, Value x) { return b.make<TanhOp>(x); }
Value tanhShrink(B &b, Value x) { return b.make<SubtractOp>(x, tanhOf(b, x)); }
Value exponential(B &b, Value x) { return b.make<ExpOp>(x); }
Value softplus(B &b, Value x) { return b.make<SoftplusOp>(x); }
Value mish(B &b, Value x) { return b.make<MultiplyOp>(x, tanhOf(b, softplus(b, x))); }
Value logSigmoid(B &b, Value x) { return b.make<NegateOp>(softplus(b, b.make<NegateOp>(x))); }
Value softsign(B &b, Value x) {
  return b.make<DivideOp>(x, b.make<AddOp>(b.make<AbsOp>(x), b.makeConstant(1.0)));
}

/// The string "gelu" is the exact form.
Value gelu(B &b, Value x) { return applyGelu(b, x, /*approximate=*/false); }

Value hardSigmoid(B &b, Value x) {
  return b.make<DivideOp>(relu6(b, b.make<AddOp>(x, b.makeConstant(3.0))), b.makeConstant(6.0));
}
/// Keras 2: clip(0.2 x + 0.5, 0, 1), op for op as tf_keras/src/backend.py.
Value hardSigmoidOfKeras2(B &b, Value x) {
  Value line = b.make<AddOp>(b.make<MultiplyOp>(x, b.makeConstant(0.2)), b.makeConstant(0.5));
  return b.make<MaximumOp>(b.make<MinimumOp>(line, b.makeConstant(1.0)), b.makeConstant(0.0));
}
Value hardSilu(B &b, Value x) { return b.make<MultiplyOp>(x, hardSigmoid(b, x)); }
Value hardTanh(B &b, Value x) {
  return b.make<MaximumOp>(b.make<MinimumOp>(x, b.makeConstant(1.0)), b.makeConstant(-1.0));
}
Value hardShrink(B &b, Value x) { return applyHardShrink(b, x, 0.5); }
Value softShrink(B &b, Value x) { return applySoftShrink(b, x, 0.5); }
Value squareplus(B &b, Value x) { return applySquareplus(b, x, 4.0); }

Value sparsePlus(B &b, Value x) {
  Value shifted = b.make<AddOp>(x, b.makeConstant(1.0));
  Value square = b.make<MultiplyOp>(b.makeConstant(0.25), b.make<MultiplyOp>(shifted, shifted));
  Value inner =
      b.makeSelect(b.makeCompare(ComparePredicate::LT, x, b.makeConstant(1.0)), square, x);
  return b.makeSelect(b.makeCompare(ComparePredicate::LE, x, b.makeConstant(-1.0)),
                      b.makeConstant(0.0), inner);
}

Value sparseSigmoid(B &b, Value x) {
  Value line = b.make<MultiplyOp>(b.makeConstant(0.5), b.make<AddOp>(x, b.makeConstant(1.0)));
  Value inner = b.makeSelect(b.makeCompare(ComparePredicate::GE, x, b.makeConstant(1.0)),
                             b.makeConstant(1.0), line);
  return b.makeSelect(b.makeCompare(ComparePredicate::LE, x, b.makeConstant(-1.0)),
                      b.makeConstant(0.0), inner);
}

// ---- Along the last axis ------------------------------------------------------------------------

/// The last axis; nothing (and an error) when it is the batch.
std::optional<int64_t> lastAxis(B &b, Value x) { return b.resolveAxis(-1, x); }

Value softmax(B &b, Value x) {
  std::optional<int64_t> axis = lastAxis(b, x);
  return axis ? b.make<SoftmaxOp>(x, *axis) : Value();
}
Value logSoftmax(B &b, Value x) {
  std::optional<int64_t> axis = lastAxis(b, x);
  return axis ? b.make<LogSoftmaxOp>(x, *axis) : Value();
}

Value glu(B &b, Value x) {
  std::optional<int64_t> axis = lastAxis(b, x);
  return axis ? applyGlu(b, x, *axis) : Value();
}
Value sparsemax(B &b, Value x) {
  std::optional<int64_t> axis = lastAxis(b, x);
  return axis ? applySparsemax(b, x, *axis) : Value();
}

struct Entry {
  llvm::StringLiteral name;
  ActivationFn apply;
};
constexpr Entry kActivations[] = {
    {"celu", celu},
    {"elu", elu},
    {"exponential", exponential},
    {"gelu", gelu},
    {"glu", glu},
    {"hard_shrink", hardShrink},
    {"hard_sigmoid", hardSigmoid},
    {"hard_silu", hardSilu},
    {"hard_swish", hardSilu},
    {"hard_tanh", hardTanh},
    {"leaky_relu", leakyRelu},
    {"linear", linear},
    {"log_sigmoid", logSigmoid},
    {"log_softmax", logSoftmax},
    {"mish", mish},
    {"relu", relu},
    {"relu6", relu6},
    {"selu", selu},
    {"sigmoid", sigmoid},
    {"silu", silu},
    {"soft_shrink", softShrink},
    {"softmax", softmax},
    {"softplus", softplus},
    {"softsign", softsign},
    {"sparse_plus", sparsePlus},
    {"sparse_sigmoid", sparseSigmoid},
    {"sparsemax", sparsemax},
    {"squareplus", squareplus},
    {"swish", silu},
    {"tanh", tanhOf},
    {"tanh_shrink", tanhShrink},
};

/// What a name means in files of Keras 2 alone.
constexpr Entry kActivationsOfKeras2[] = {
    {"hard_sigmoid", hardSigmoidOfKeras2},
    {"softmax_v2", softmax}, // tf.nn.softmax
};

} // namespace

/// max(x, 0) + alpha expm1(min(x, 0) / alpha)
Value applyCelu(ValueBuilder &b, Value x, double alpha) {
  Value zero = b.makeConstant(0.0), low = b.make<MinimumOp>(x, zero);
  if (alpha != 1.0)
    low = b.make<DivideOp>(low, b.makeConstant(alpha));
  Value bent = b.make<Expm1Op>(low);
  if (alpha != 1.0)
    bent = b.make<MultiplyOp>(b.makeConstant(alpha), bent);
  return b.make<AddOp>(b.make<MaximumOp>(x, zero), bent);
}

/// 0.5 x (1 + erf(x / sqrt 2)), or 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). The square is
/// bounded where tanh has long been 1: beyond 256 it is infinite in float16, and times a derivative
/// of 0 not a number.
Value applyGelu(ValueBuilder &b, Value x, bool approximate) {
  Value bent;
  if (approximate) {
    Value square = b.make<MinimumOp>(b.make<MultiplyOp>(x, x), b.makeConstant(kGeluSquareBound));
    Value cube = b.make<MultiplyOp>(square, x);
    Value sum = b.make<AddOp>(x, b.make<MultiplyOp>(b.makeConstant(kGeluCube), cube));
    bent = b.make<TanhOp>(b.make<MultiplyOp>(b.makeConstant(kGeluScale), sum));
  } else {
    bent = b.make<ErfOp>(b.make<DivideOp>(x, b.makeConstant(1.4142135623730951)));
  }
  Value sum = b.make<AddOp>(b.makeConstant(1.0), bent);
  return b.make<MultiplyOp>(b.make<MultiplyOp>(b.makeConstant(0.5), x), sum);
}

Value applyHardShrink(ValueBuilder &b, Value x, double threshold) {
  Value outside = b.makeCompare(ComparePredicate::GT, b.make<AbsOp>(x), b.makeConstant(threshold));
  return b.makeSelect(outside, x, b.makeConstant(0.0));
}

Value applySoftShrink(ValueBuilder &b, Value x, double threshold) {
  Value above = b.makeCompare(ComparePredicate::GT, x, b.makeConstant(threshold));
  Value below = b.makeCompare(ComparePredicate::LT, x, b.makeConstant(-threshold));
  Value rest =
      b.makeSelect(below, b.make<AddOp>(x, b.makeConstant(threshold)), b.makeConstant(0.0));
  return b.makeSelect(above, b.make<SubtractOp>(x, b.makeConstant(threshold)), rest);
}

/// (x + sqrt(x^2 + b)) / 2, in float32 or wider.
Value applySquareplus(ValueBuilder &b, Value x, double shift) {
  Value wide = b.makeCastLike(x, x, /*wide=*/true);
  Value sum = b.make<AddOp>(b.make<MultiplyOp>(wide, wide), b.makeConstant(shift));
  return b.makeCastLike(
      b.make<DivideOp>(b.make<AddOp>(wide, b.make<SqrtOp>(sum)), b.makeConstant(2.0)), x);
}

/// first half * sigmoid(second half)
Value applyGlu(ValueBuilder &b, Value x, int64_t axis) {
  const int64_t extent = b.shapeOf(x)[axis];
  if (extent % 2 != 0)
    return b.error("activation 'glu' splits an axis in halves, but it has " + llvm::Twine(extent) +
                   " elements; give the layer an even number of units");
  Value first = b.make<SliceOp>(x, axis, 0, extent / 2);
  Value second = b.make<SliceOp>(x, axis, extent / 2, extent / 2);
  return b.make<MultiplyOp>(first, sigmoid(b, second));
}

/// Sparsemax as Keras computes it: with z sorted in descending order, support = z - (cumsum(z) - 1)
/// / rank > 0 and tau = (sum of the supported cumsums - 1) / count. The sum of cumsums (not the
/// last one) is Keras's; results equal Keras's, not the paper's. There is no sort op: cumsum and
/// rank of each element are sums over the elements that a stable descending sort puts at or before
/// it, in float32 or wider: tau is a small difference of large sums.
Value applySparsemax(ValueBuilder &b, Value x, int64_t axis) {
  if (axis != b.rankOf(x) - 1)
    return b.error("'sparsemax' along another axis than the last is not supported");
  llvm::SmallVector<int64_t> rows(b.shapeOf(x)), columns(rows);
  const int64_t extent = rows.back();
  const int64_t limit = 1024; // extent^2 values per sample
  if (extent > limit)
    return b.error("activation 'sparsemax' over " + llvm::Twine(extent) + " elements; at most " +
                   llvm::Twine(limit) + " are supported");
  rows.push_back(1);
  columns.insert(columns.end() - 1, 1);
  llvm::SmallVector<bool> notAfter;
  for (int64_t row = 0; row < extent; ++row)
    for (int64_t column = 0; column < extent; ++column)
      notAfter.push_back(column <= row);
  auto maskType = mlir::RankedTensorType::get({extent, extent}, b.builder.getI1Type());
  Value stable = b.make<ConstantOp>(
      llvm::cast<mlir::ElementsAttr>(mlir::DenseElementsAttr::get(maskType, notAfter)));

  Value narrow = x;
  x = b.makeCastLike(x, x, /*wide=*/true);
  Value self = b.makeReshape(x, rows), other = b.makeReshape(x, columns);
  Value zero = b.makeConstant(0.0), one = b.makeConstant(1.0);
  Value greater = b.makeCompare(ComparePredicate::GT, other, self);
  Value tied = b.make<LogicalAndOp>(b.makeCompare(ComparePredicate::EQ, other, self), stable);
  auto sumWhere = [&](Value value) {
    Value kept = b.makeSelect(greater, value, b.makeSelect(tied, value, zero));
    return b.make<ReduceOp>(ReduceKind::Sum, kept, llvm::ArrayRef<int64_t>{axis + 1}, false);
  };
  Value cumulative = sumWhere(other), rank = sumWhere(one);
  Value bound = b.make<DivideOp>(b.make<SubtractOp>(cumulative, one), rank);
  Value support = b.makeCompare(ComparePredicate::GT, b.make<SubtractOp>(x, bound), zero);
  auto sumSupported = [&](Value value) {
    return b.make<ReduceOp>(ReduceKind::Sum, b.makeSelect(support, value, zero),
                            llvm::ArrayRef<int64_t>{axis}, true);
  };
  Value total = b.make<SubtractOp>(sumSupported(cumulative), one);
  Value tau = b.make<DivideOp>(total, sumSupported(one));
  return b.makeCastLike(b.make<MaximumOp>(b.make<SubtractOp>(x, tau), zero), narrow);
}

Value applyLeakyRelu(ValueBuilder &b, Value x, double negativeSlope) {
  Value positive = b.makeCompare(ComparePredicate::GT, x, b.makeConstant(0.0));
  return b.makeSelect(positive, x, b.make<MultiplyOp>(x, b.makeConstant(negativeSlope)));
}

Value applyElu(ValueBuilder &b, Value x, double alpha) {
  Value zero = b.makeConstant(0.0);
  Value result = b.makeSelect(b.makeCompare(ComparePredicate::LT, x, zero), expMinusOne(b, x), x);
  if (alpha == 1.0)
    return result;
  return b.makeSelect(b.makeCompare(ComparePredicate::GT, x, zero), result,
                      b.make<MultiplyOp>(b.makeConstant(alpha), result));
}

Value applyRelu(ValueBuilder &b, Value x, double negativeSlope, std::optional<double> maxValue,
                double threshold) {
  Value negative;
  if (negativeSlope != 0.0) {
    if (!maxValue && threshold == 0.0)
      return applyLeakyRelu(b, x, negativeSlope);
    Value mirrored = b.make<NegateOp>(x);
    if (threshold != 0.0)
      mirrored = b.make<AddOp>(mirrored, b.makeConstant(threshold));
    negative = relu(b, mirrored);
  }
  bool clip = maxValue.has_value();
  if (threshold != 0.0) {
    Value above = b.makeCompare(ComparePredicate::GT, x, b.makeConstant(threshold));
    x = b.makeSelect(above, x, b.makeConstant(0.0));
  } else if (maxValue == 6.0) {
    x = relu6(b, x);
    clip = false;
  } else {
    x = relu(b, x);
  }
  if (clip)
    x = b.make<MaximumOp>(b.make<MinimumOp>(x, b.makeConstant(*maxValue)), b.makeConstant(0.0));
  if (negative)
    x = b.make<SubtractOp>(x, b.make<MultiplyOp>(b.makeConstant(negativeSlope), negative));
  return x;
}

ActivationFn findActivation(llvm::StringRef name, KerasVersion version) {
  if (version.isKeras2())
    for (const Entry &entry : kActivationsOfKeras2)
      if (entry.name == name)
        return entry.apply;
  for (const Entry &entry : kActivations)
    if (entry.name == name)
      return entry.apply;
  return nullptr;
}

/// `activation=LeakyReLU(negative_slope=0.1)`: Keras calls the layer, which has no variables,
/// inside of the other one.
static Value applyActivationLayer(LayerBuilder &b, llvm::StringRef key,
                                  const llvm::json::Object &object, Value input) {
  constexpr llvm::StringLiteral classes[] = {"ELU", "LeakyReLU", "ReLU", "Softmax",
                                             "ThresholdedReLU"};
  const llvm::StringRef className = object.getString("class_name").value_or("");
  if (!llvm::is_contained(classes, className))
    return b.error("the activation in '" + key + "' is an object of class '" + className +
                   "'; supported are the names of Keras's activation functions and " +
                   llvm::join(llvm::ArrayRef(classes), ", ") +
                   "; use the layer after this one instead");
  const LayerConfig *layer = b.getChild(key);
  const LayerEntry *entry = layer ? findLayer(*layer) : nullptr;
  if (layer && !entry)
    b.error("the activation in '" + key + "' is a " + className + " that is not Keras's");
  if (!entry) {
    b.fail();
    return {};
  }
  if (!b.computesAs(*layer))
    return b.error("the " + layer->className + " in '" + key +
                   "' has another dtype policy than the layer; give both the same, or use it after "
                   "this one instead");
  LayerBuilder inner(b, *layer, "", key, {input});
  return entry->import(inner);
}

/// Null after an error.
static Value applyNamedActivation(LayerBuilder &b, llvm::StringRef key, Value input) {
  const llvm::json::Value *value = b.layer.config.get(key);
  if (!value || value->kind() == llvm::json::Value::Null)
    return input;
  std::optional<llvm::StringRef> name = value->getAsString();
  if (!name) {
    // {"class_name": "function", "config": "relu"}: a function of Keras passed as an object.
    const llvm::json::Object *object = value->getAsObject();
    if (object && object->getString("class_name") == llvm::StringRef("function"))
      name = object->getString("config");
    // The only function that KerasHub registers.
    if (name == llvm::StringRef("keras_hub>gelu_approximate") ||
        name == llvm::StringRef("keras_nlp>gelu_approximate"))
      return applyGelu(b, input, /*approximate=*/true);
  }
  if (const llvm::json::Object *object = value->getAsObject(); !name && object)
    return applyActivationLayer(b, key, *object, input);
  if (!name)
    return b.error("the activation in '" + key +
                   "' is neither a name nor an object; supported are the names of Keras's "
                   "activation functions");
  if (ActivationFn apply = findActivation(*name, b.layer.version))
    return apply(b, input);
  if (*name == "threshold")
    return b.error("activation 'threshold' needs arguments that a name cannot give");
  return b.error("unknown activation '" + *name +
                 "'; supported are the names of Keras's activation functions");
}

Value applyConfiguredActivation(LayerBuilder &b, llvm::StringRef key, Value input) {
  Value output = applyNamedActivation(b, key, input);
  return output ? output : input;
}

} // namespace mpc::keras
