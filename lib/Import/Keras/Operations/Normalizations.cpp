// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras.ops.nn: normalisations with given scales; cross-entropies and noise as values of a graph.
#include "lib/Import/Keras/Operations/OperationBuilder.h"

#include <cmath>

namespace mpc::keras {
namespace {

using mlir::Value;
using B = OperationBuilder;

constexpr double kEpsilon = 1e-7; ///< keras.config.epsilon()

/// An optional floating operand in the dtype of `like`, or its own; false after an error.
bool readFactor(B &b, unsigned position, llvm::StringRef name, Value like, Value &factor) {
  if (!b.findArgument(position, name))
    return true;
  Value given = b.getFloat(position, name);
  factor = given && like ? b.makeCastLike(given, like) : given;
  return bool(factor);
}

/// Shaped to stand along the axes of a tensor of this rank.
Value alongAxes(B &b, Value factor, llvm::ArrayRef<int64_t> axes, Value x) {
  if (!factor)
    return factor;
  llvm::SmallVector<int64_t> shape(b.rankOf(x), 1);
  int64_t elements = 1;
  for (int64_t axis : axes) {
    shape[axis] = b.shapeOf(x)[axis];
    elements *= shape[axis];
  }
  int64_t own = 1;
  for (int64_t extent : b.shapeOf(factor))
    own *= extent;
  if (own != elements || tensorTypeOf(factor).getNumDynamicDims())
    return b.error("'" + b.layer.className + "' has factors of another shape than its axes");
  return b.makeReshape(factor, shape);
}

/// x inv + (offset - mean inv), inv = rsqrt(variance + epsilon) scale, both factors of x in the
/// dtype of what they are made of (tf.nn.batch_normalization).
Value normalizeWith(B &b, Value x, Value mean, Value variance, double epsilon, Value scale,
                    Value offset) {
  Value inv = b.make<RsqrtOp>(b.make<AddOp>(variance, b.makeConstant(epsilon)));
  if (scale)
    inv = b.make<MultiplyOp>(inv, scale);
  Value shift = b.make<NegateOp>(b.make<MultiplyOp>(mean, inv));
  if (offset)
    shift = b.make<AddOp>(shift, offset);
  return b.make<AddOp>(b.make<MultiplyOp>(x, b.makeCastLike(inv, x)), b.makeCastLike(shift, x));
}

using Axes = llvm::SmallVector<int64_t>;

/// The axes of the argument 'axis', or the last one; none without `x` and after an error.
std::optional<Axes> normalizedAxes(B &b, Value x) {
  if (!x)
    return std::nullopt;
  if (b.findArgument(kKeywordOnly, "axis"))
    return b.getAxes(kKeywordOnly, "axis", x, /*acrossSamples=*/false);
  return Axes{b.rankOf(x) - 1};
}

Value layerNorm(B &b) {
  Value x = b.getFloat(0, "x"), gamma, beta;
  std::optional<Axes> axes = normalizedAxes(b, x);
  if (!axes)
    return {};
  if (b.getFlag(kKeywordOnly, "rms_scaling", false))
    return b.error("'rms_scaling' of 'LayerNorm' is not supported; use rms_normalization");
  Value wide = b.makeCastLike(x, x, /*wide=*/true);
  if (!readFactor(b, 1, "gamma", wide, gamma) || !readFactor(b, 2, "beta", wide, beta))
    return {};
  gamma = alongAxes(b, gamma, *axes, x);
  beta = alongAxes(b, beta, *axes, x);
  if (b.hasFailed())
    return {};
  auto moments = MomentsOp::create(b.builder, b.location, wide, *axes, /*keep_dims=*/true);
  const double epsilon = b.getNumber(kKeywordOnly, "epsilon").value_or(kEpsilon);
  return b.makeCastLike(
      normalizeWith(b, wide, moments.getMean(), moments.getVariance(), epsilon, gamma, beta), x);
}

Value rmsNorm(B &b) {
  Value x = b.getFloat(0, "x"), scale;
  std::optional<Axes> axes = normalizedAxes(b, x);
  if (!axes)
    return {};
  Value wide = b.makeCastLike(x, x, /*wide=*/true);
  if (!readFactor(b, 1, "scale", wide, scale))
    return {};
  Value square =
      b.makeReduce(ReduceKind::Mean, b.make<MultiplyOp>(wide, wide), *axes, /*keepDims=*/true);
  const double epsilon = b.getNumber(kKeywordOnly, "epsilon").value_or(kEpsilon);
  Value y =
      b.make<MultiplyOp>(wide, b.make<RsqrtOp>(b.make<AddOp>(square, b.makeConstant(epsilon))));
  if (scale && failed(broadcastShapes({b.shapeOf(scale), b.shapeOf(y)})))
    return b.error("'scale' of 'RMSNorm' does not broadcast to the tensor");
  return b.makeCastLike(scale ? b.make<MultiplyOp>(y, scale) : y, x);
}

Value batchNorm(B &b) {
  Value x = b.getFloat(0, "x");
  std::optional<int64_t> axis = x ? b.getAxis(kKeywordOnly, "axis", -1, x) : std::nullopt;
  if (!axis)
    return {};
  Value factors[4];
  const llvm::StringLiteral names[4] = {"mean", "variance", "offset", "scale"};
  for (unsigned i = 0; i < 4; ++i) {
    if (!readFactor(b, 1 + i, names[i], /*like=*/{}, factors[i]))
      return {};
    factors[i] = alongAxes(b, factors[i], {*axis}, x);
  }
  if (!factors[0] || !factors[1])
    return b.hasFailed() ? Value() : b.error("'BatchNorm' needs 'mean' and 'variance'");
  llvm::SmallVector<Value> given;
  llvm::copy_if(factors, std::back_inserter(given), [](Value factor) { return bool(factor); });
  for (Value &factor : factors)
    if (factor)
      factor = b.makeCastLike(factor, given, /*wide=*/true);
  const double epsilon = b.getNumber(kKeywordOnly, "epsilon").value_or(1e-3);
  return b.makeCastLike(normalizeWith(b, b.makeCastLike(x, x, /*wide=*/true), factors[0],
                                      factors[1], epsilon, factors[3], factors[2]),
                        x);
}

// ---- Cross-entropies ----------------------------------------------------------------------------

Value clipProbabilities(B &b, Value p) {
  Value low = b.makeCastLike(b.makeConstant(kEpsilon), p),
        high = b.makeCastLike(b.makeConstant(1.0 - kEpsilon), p);
  return b.make<MinimumOp>(b.make<MaximumOp>(p, low), high);
}

/// log of the probabilities of classes, of logits or of probabilities that are scaled to sum 1.
Value logProbabilities(B &b, Value output, int64_t axis) {
  if (b.getFlag(kKeywordOnly, "from_logits", false))
    return b.make<LogSoftmaxOp>(output, axis);
  Value sum = b.makeReduce(ReduceKind::Sum, output, {axis}, /*keepDims=*/true);
  return b.make<LogOp>(clipProbabilities(b, b.make<DivideOp>(output, sum)));
}

Value categoricalCrossentropy(B &b) {
  Value target = b.getFloat(0, "target"), output = b.getFloat(1, "output");
  std::optional<int64_t> axis =
      target && output ? b.getAxis(kKeywordOnly, "axis", -1, output) : std::nullopt;
  if (!axis)
    return {};
  if (b.shapeOf(target) != b.shapeOf(output))
    return b.error("'CategoricalCrossentropy' of tensors of other shapes");
  Value terms = b.make<MultiplyOp>(target, logProbabilities(b, output, *axis));
  return b.make<NegateOp>(b.makeReduce(ReduceKind::Sum, terms, {*axis}, false));
}

Value sparseCategoricalCrossentropy(B &b) {
  Value target = b.getValue(0, "target"), output = b.getFloat(1, "output");
  std::optional<int64_t> axis =
      target && output ? b.getAxis(kKeywordOnly, "axis", -1, output) : std::nullopt;
  if (!axis)
    return {};
  if (*axis != b.rankOf(output) - 1 || b.shapeOf(target) != b.shapeOf(output).drop_back() ||
      mlir::isa<mlir::FloatType>(elementTypeOf(target)))
    return b.error("'SparseCategoricalCrossentropy' needs integer classes for the last axis");
  Value hits = b.make<OneHotOp>(
      mlir::RankedTensorType::get(b.shapeOf(output), b.builder.getF32Type()), target);
  Value terms =
      b.make<MultiplyOp>(b.makeCastLike(hits, output), logProbabilities(b, output, *axis));
  return b.make<NegateOp>(b.makeReduce(ReduceKind::Sum, terms, {*axis}, false));
}

Value binaryCrossentropy(B &b) {
  Value target = b.getFloat(0, "target"), output = b.getFloat(1, "output");
  if (!target || !output)
    return {};
  if (b.shapeOf(target) != b.shapeOf(output))
    return b.error("'BinaryCrossentropy' of tensors of other shapes");
  if (b.getFlag(kKeywordOnly, "from_logits", false)) {
    // max(x, 0) - x y + log1p(e^-|x|)
    Value decay = b.make<Log1pOp>(b.make<ExpOp>(b.make<NegateOp>(b.make<AbsOp>(output))));
    Value linear = b.make<SubtractOp>(b.make<ReluOp>(output), b.make<MultiplyOp>(output, target));
    return b.make<AddOp>(linear, decay);
  }
  Value p = clipProbabilities(b, output), one = b.makeConstant(1.0);
  Value yes = b.make<MultiplyOp>(target, b.make<LogOp>(p));
  Value no = b.make<MultiplyOp>(b.make<SubtractOp>(one, target),
                                b.make<LogOp>(b.make<SubtractOp>(one, p)));
  return b.make<NegateOp>(b.make<AddOp>(yes, no));
}

/// 20 log10(max_val) - 10 log10(mean (x1 - x2)^2), the mean over all samples.
Value signalToNoise(B &b) {
  Operand first = b.getOperand(0, "x1"), second = b.getOperand(1, "x2");
  std::optional<double> most = b.getNumber(kKeywordOnly, "max_val");
  if (b.hasFailed())
    return {};
  if (!first.isFloat() || !second.isFloat() || b.shapeOf(first.value) != b.shapeOf(second.value))
    return b.error("'PSNR' takes two floating tensors of one shape");
  if (!most || !(*most > 0.0))
    return b.error("'max_val' of 'PSNR' must be a positive number");
  Value distance = b.make<SubtractOp>(first.value, second.value);
  llvm::SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, b.rankOf(distance)));
  Value error = b.makeReduce(ReduceKind::Mean, b.make<MultiplyOp>(distance, distance), axes, false);
  Value decibels = b.make<MultiplyOp>(b.make<LogOp>(error), b.makeConstant(10.0 / std::log(10.0)));
  return b.make<SubtractOp>(b.makeConstant(20.0 * std::log10(*most)), decibels);
}

constexpr OperationEntry kNormalizationOperations[] = {
    {"BatchNorm", batchNorm},
    {"BinaryCrossentropy", binaryCrossentropy},
    {"CategoricalCrossentropy", categoricalCrossentropy},
    {"LayerNorm", layerNorm},
    {"PSNR", signalToNoise},
    {"RMSNorm", rmsNorm},
    {"SparseCategoricalCrossentropy", sparseCategoricalCrossentropy},
};

} // namespace

llvm::ArrayRef<OperationEntry> normalizationOperations() { return kNormalizationOperations; }

} // namespace mpc::keras
