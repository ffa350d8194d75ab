// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/normalization: BatchNormalization, LayerNormalization, GroupNormalization,
// RMSNormalization, UnitNormalization. All compute in float32 or wider, in Keras's order of ops.
#include "lib/Import/Common/BatchAxis.h"
#include "lib/Import/Keras/LayerRegistry.h"

#include <cmath>

namespace mpc::keras {
namespace {

using mlir::Value;
using B = LayerBuilder;

/// gamma (or scale) and beta of a normalisation, which no autocast touches.
Value addGamma(B &b, llvm::ArrayRef<int64_t> shape) {
  VariableRequest request{"gamma", llvm::SmallVector<int64_t>(shape), "gamma_initializer",
                          "gamma_regularizer", "gamma_constraint"};
  request.defaultInitializer = "ones";
  request.autocast = false;
  return b.addVariable(request);
}
Value addBeta(B &b, llvm::ArrayRef<int64_t> shape) {
  VariableRequest request{"beta", llvm::SmallVector<int64_t>(shape), "beta_initializer",
                          "beta_regularizer", "beta_constraint"};
  request.autocast = false;
  return b.addVariable(request);
}

/// scale of x and offset from statistics: inv = rsqrt(variance + epsilon) * gamma and
/// beta - mean * inv; gamma and beta may be null.
std::pair<Value, Value> makeAffine(B &b, Value mean, Value variance, Value gamma, Value beta,
                                   double epsilon) {
  Value inv = b.make<RsqrtOp>(b.make<AddOp>(variance, b.makeConstant(epsilon)));
  if (gamma)
    inv = b.make<MultiplyOp>(inv, gamma);
  Value shift = b.make<MultiplyOp>(b.make<NegateOp>(mean), inv);
  if (beta)
    shift = b.make<AddOp>(shift, beta);
  return {inv, shift};
}

// ---- BatchNormalization -------------------------------------------------------------------------

Value addMoving(B &b, llvm::StringRef name, llvm::ArrayRef<int64_t> shape, llvm::StringRef key,
                llvm::StringRef otherwise) {
  VariableRequest request{name, llvm::SmallVector<int64_t>(shape), key, "", ""};
  request.defaultInitializer = otherwise;
  request.trainable = false;
  request.autocast = false;
  return b.addVariable(request);
}

struct BatchStatistics {
  B &b;
  double momentum;

  /// moving * momentum + batch * (1 - momentum)
  Value blend(Value moving, Value batch, double factor) {
    return b.make<AddOp>(b.make<MultiplyOp>(moving, b.makeConstant(factor)),
                         b.make<MultiplyOp>(batch, b.makeConstant(1.0 - factor)));
  }
  /// In training the batch's value, which `variable` follows; else the moving one.
  Value follow(Value variable, Value moving, Value batch) {
    b.updateVariable(variable, blend(moving, batch, momentum));
    return b.make<InTrainingOp>(batch, moving);
  }
};

/// Batch renormalization: in training the batch's statistics are corrected towards the moving ones
/// by factors that no derivative goes through.
struct Renormalization {
  B &b;
  int64_t channels;
  double momentum, epsilon;
  Value stddevVariable = {}, renormMean = {}, renormStddev = {};

  bool addVariables() {
    stddevVariable = addMoving(b, "moving_stddev", channels, "", "ones");
    renormMean = addMoving(b, "renorm_mean", channels, "moving_mean_initializer", "zeros");
    renormStddev = addMoving(b, "renorm_stddev", channels, "", "ones");
    return stddevVariable && renormMean && renormStddev;
  }

  Value clip(Value value, llvm::StringRef low, llvm::StringRef high, double sign) {
    const llvm::json::Object *limits = b.layer.config.getObject("renorm_clipping");
    if (std::optional<double> bound = limits ? limits->getNumber(low) : std::nullopt)
      value = b.make<MaximumOp>(value, b.makeConstant(sign * *bound));
    if (std::optional<double> bound = limits ? limits->getNumber(high) : std::nullopt)
      value = b.make<MinimumOp>(value, b.makeConstant(*bound));
    return value;
  }

  /// gamma and beta as training uses them, and the new statistics.
  void apply(Value mean, Value variance, Value varianceVariable, Value &gamma, Value &beta) {
    Value stddev = b.make<SqrtOp>(b.make<AddOp>(variance, b.makeConstant(epsilon)));
    Value oldMean = b.makeCastLike(renormMean, mean),
          oldStddev = b.makeCastLike(renormStddev, mean);
    Value safe = b.make<MaximumOp>(oldStddev, b.makeConstant(std::sqrt(epsilon)));
    Value r = clip(b.make<DivideOp>(stddev, safe), "rmin", "rmax", 1.0);
    Value d = clip(b.make<DivideOp>(b.make<SubtractOp>(mean, oldMean), safe), "dmax", "dmax", -1.0);
    r = b.make<StopGradientOp>(r);
    d = b.make<StopGradientOp>(d);
    Value one = b.make<BroadcastLikeOp>(b.makeCastLike(b.makeConstant(1.0), mean), mean),
          zero = b.make<SubtractOp>(one, one);
    Value oldGamma = gamma ? b.makeCastLike(gamma, mean) : one,
          oldBeta = beta ? b.makeCastLike(beta, mean) : zero;
    gamma = b.make<InTrainingOp>(b.make<MultiplyOp>(r, oldGamma), oldGamma);
    beta = b.make<InTrainingOp>(b.make<AddOp>(b.make<MultiplyOp>(d, oldGamma), oldBeta), oldBeta);

    const double renormMomentum = b.getNumber("renorm_momentum", 0.99);
    BatchStatistics blender{b, momentum};
    b.updateVariable(renormMean, blender.blend(oldMean, mean, renormMomentum));
    b.updateVariable(renormStddev, blender.blend(oldStddev, stddev, renormMomentum));
    Value moving = blender.blend(b.makeCastLike(stddevVariable, mean), stddev, momentum);
    b.updateVariable(stddevVariable, moving);
    b.updateVariable(varianceVariable,
                     b.make<ReluOp>(b.make<SubtractOp>(b.make<MultiplyOp>(moving, moving),
                                                       b.makeConstant(epsilon))));
  }
};

/// Keras sums over the unmasked places and divides by their number plus 1e-7.
std::pair<Value, Value> maskedMoments(B &b, Value x, Value mask, llvm::ArrayRef<int64_t> axes,
                                      llvm::ArrayRef<int64_t> broadcast) {
  llvm::SmallVector<int64_t> shape(b.shapeOf(mask));
  shape.push_back(1);
  mask = b.makeReshape(mask, shape);
  Value zero = b.makeConstant(0.0);
  auto sum = [&](Value value) { return b.make<ReduceOp>(ReduceKind::Sum, value, axes, false); };
  Value ones = b.makeSelect(mask, b.make<BroadcastLikeOp>(b.makeConstant(1.0), x), zero);
  Value count = b.make<AddOp>(sum(ones), b.makeConstant(1e-7));
  Value mean = b.make<DivideOp>(sum(b.makeSelect(mask, x, zero)), count);
  Value difference =
      b.makeSelect(mask, b.make<SubtractOp>(x, b.makeReshape(mean, broadcast)), zero);
  Value variance = b.make<DivideOp>(sum(b.make<MultiplyOp>(difference, difference)), count);
  return {mean, variance};
}

/// How many numbers the statistics of a channel are of: the batch's extent is known at run time.
Value countOf(B &b, Value x, llvm::ArrayRef<int64_t> axes) {
  int64_t others = 1;
  Value column = x;
  for (int64_t axis = 1; axis < b.rankOf(x); ++axis) {
    if (llvm::is_contained(axes, axis))
      others *= b.shapeOf(x)[axis];
    if (b.shapeOf(column)[axis] != 1)
      column = b.make<SliceOp>(column, axis, int64_t(0), int64_t(1));
  }
  column = b.makeReshape(column, {b.shapeOf(x).front()});
  Value each = b.make<BroadcastLikeOp>(b.makeConstant(double(others)), column);
  return b.make<ReduceOp>(ReduceKind::Sum, each, llvm::ArrayRef<int64_t>{0}, false);
}

/// The factor by which Keras 2 multiplies the batch's variance before the moving one follows it: n
/// / (n - 1) in TensorFlow's fused kernel, which takes images and volumes with channels on an axis
/// that it knows. Standalone Keras has n / (n - 1 - epsilon) for every input, besides. Null for 1.
Value varianceCorrection(B &b, Value x, llvm::ArrayRef<int64_t> axes, int64_t axis,
                         double epsilon) {
  const KerasVersion version = b.layer.version;
  const int64_t rank = b.rankOf(x);
  auto isSet = [&](llvm::StringRef key) {
    const llvm::json::Value *value = b.layer.config.get(key);
    return value && value->kind() != llvm::json::Value::Null && value->getAsBoolean() != false;
  };
  const bool isFused = (rank == 4 || (rank == 5 && version.ofTensorFlow)) &&
                       (axis == 1 || axis == rank - 1) && !isSet("renorm") &&
                       !isSet("synchronized") && b.layer.className != "SyncBatchNormalization" &&
                       !elementTypeOf(x).isF64();
  if (!version.isKeras2() || (version.ofTensorFlow && !isFused))
    return {};
  Value count = countOf(b, x, axes), one = b.makeConstant(1.0), factor;
  if (isFused)
    factor = b.make<DivideOp>(count, b.make<MaximumOp>(b.make<SubtractOp>(count, one), one));
  if (!version.ofTensorFlow) {
    Value other = b.make<DivideOp>(count, b.make<SubtractOp>(count, b.makeConstant(1.0 + epsilon)));
    factor = factor ? b.make<MultiplyOp>(factor, other) : other;
  }
  return factor;
}

Value importBatchNormalization(B &b) {
  Value x = b.getFloatInput(/*castIntegers=*/true);
  if (!x)
    return {};
  // Files of Keras 2 hold a list of one axis.
  int64_t configured = -1;
  const llvm::json::Value *written = b.layer.config.get("axis");
  if (written && written->getAsArray()) {
    auto list = b.getIntegers("axis", 0);
    if (!list || list->size() != 1)
      return b.error("'axis' of BatchNormalization must be one axis");
    configured = list->front();
  } else {
    configured = b.getInteger("axis", -1);
  }
  // Parts of the batch, each with statistics of its own, in a dimension that Keras inserts.
  const bool hasVirtualBatches = b.getInteger("virtual_batch_size", 0) != 0;
  if (hasVirtualBatches) {
    b.setInferenceOnly("BatchNormalization with virtual_batch_size");
    if (b.getFlag("renorm", false))
      return b.error("renorm beside virtual_batch_size is not supported; build the layer with one "
                     "of them and give it these weights");
  }
  std::optional<int64_t> axis = resolveAxis(b, configured, x);
  const double momentum = b.getNumber("momentum", 0.99), epsilon = b.getNumber("epsilon", 1e-3);
  if (!axis || b.hasFailed())
    return {};
  const int64_t rank = b.rankOf(x), channels = b.shapeOf(x)[*axis];
  Value gamma, beta;
  const bool scale = b.getFlag("scale", true), center = b.getFlag("center", true);
  llvm::SmallVector<int64_t> stored{channels};
  if (hasVirtualBatches) {
    stored.assign(rank + 1, 1);
    stored[*axis + 1] = channels;
  }
  if (scale && !(gamma = addGamma(b, stored)))
    return {};
  if (center && !(beta = addBeta(b, stored)))
    return {};
  Value meanVariable = addMoving(b, "moving_mean", stored, "moving_mean_initializer", "zeros");
  Value varianceVariable =
      addMoving(b, "moving_variance", stored, "moving_variance_initializer", "ones");
  if (!meanVariable || !varianceVariable)
    return {};
  if (hasVirtualBatches)
    for (Value *variable : {&gamma, &beta, &meanVariable, &varianceVariable})
      if (*variable)
        *variable = b.makeReshape(*variable, {channels});
  Renormalization renorm{b, channels, momentum, epsilon};
  const bool renormalizes = b.getFlag("renorm", false);
  if (renormalizes && !renorm.addVariables())
    return {};

  Value mask = b.getMask(2);
  if (mask && b.rankOf(mask) != rank - 1)
    return b.error("the mask of BatchNormalization must have one dimension less than the input");

  llvm::SmallVector<int64_t> shape(rank - *axis, 1);
  shape.front() = channels;
  x = b.makeCastLike(x, x, /*wide=*/true);
  Value mean = b.makeCastLike(meanVariable, x), variance = b.makeCastLike(varianceVariable, x);
  if (b.trainable && !hasVirtualBatches) {
    llvm::SmallVector<int64_t> axes;
    for (int64_t d = 0; d < rank; ++d)
      if (d != *axis)
        axes.push_back(d);
    Value batchMean, batchVariance;
    if (mask) {
      std::tie(batchMean, batchVariance) = maskedMoments(b, x, mask, axes, shape);
    } else {
      auto moments = MomentsOp::create(b.builder, b.location, x, axes, /*keep_dims=*/false);
      batchMean = moments.getMean();
      batchVariance = moments.getVariance();
    }
    BatchStatistics statistics{b, momentum};
    if (renormalizes)
      renorm.apply(batchMean, batchVariance, varianceVariable, gamma, beta);
    mean = statistics.follow(meanVariable, mean, batchMean);
    if (renormalizes) {
      variance = b.make<InTrainingOp>(batchVariance, variance);
    } else {
      Value followed = batchVariance;
      if (Value factor = varianceCorrection(b, x, axes, *axis, epsilon))
        followed = b.make<MultiplyOp>(batchVariance, factor);
      b.updateVariable(varianceVariable, statistics.blend(variance, followed, momentum));
      variance = b.make<InTrainingOp>(batchVariance, variance);
    }
  }
  auto [inv, shift] = makeAffine(b, mean, variance, gamma, beta, epsilon);
  inv = b.makeReshape(inv, shape);
  shift = b.makeReshape(shift, shape);
  return b.make<AddOp>(b.make<MultiplyOp>(x, inv), shift);
}

/// Keras normalises integers in float32 and makes integers of the result again
/// (keras/src/ops/nn.py).
bool isInteger(Value value) { return !mlir::isa<mlir::FloatType>(elementTypeOf(value)); }
Value makeWide(B &b, Value x) {
  return isInteger(x) ? b.makeCastTo(x, b.builder.getF32Type())
                      : b.makeCastLike(x, x, /*wide=*/true);
}
Value makeNarrow(B &b, Value y, Value x) {
  return isInteger(x)
             ? b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(y), elementTypeOf(x)), y)
             : b.makeCastLike(y, x);
}

// ---- LayerNormalization, RMSNormalization -------------------------------------------------------

/// The axes of a normalisation as its build() sorts them (before negative ones are resolved, as
/// Keras does), the extents there, and the axes from the front.
struct NormalizedAxes {
  llvm::SmallVector<int64_t> shape; ///< of the variables
  llvm::SmallVector<int64_t> axes;
  llvm::SmallVector<int64_t> broadcast; ///< the variables' shape next to x

  static std::optional<NormalizedAxes> read(B &b, Value x) {
    NormalizedAxes result;
    llvm::SmallVector<int64_t> written;
    const llvm::json::Value *config = b.layer.config.get("axis");
    if (config && config->getAsArray())
      written = b.getIntegers("axis", 0).value_or(llvm::SmallVector<int64_t>());
    else
      written.push_back(b.getInteger("axis", -1));
    llvm::sort(written);
    result.broadcast.assign(b.rankOf(x), 1);
    for (int64_t axis : written) {
      std::optional<int64_t> resolved = resolveAxis(b, axis, x);
      if (!resolved)
        return std::nullopt;
      if (llvm::is_contained(result.axes, *resolved)) {
        b.error("'axis' names an axis twice");
        return std::nullopt;
      }
      result.axes.push_back(*resolved);
      result.shape.push_back(b.shapeOf(x)[*resolved]);
      result.broadcast[*resolved] = result.shape.back();
    }
    if (result.axes.empty()) {
      b.error("'axis' is an empty list");
      return std::nullopt;
    }
    return result;
  }
};

/// keras/src/ops/nn.py, _layer_normalization. Inputs keep their dtype, and the result passes
/// through it on the way to the compute dtype.
Value importLayerNormalization(B &b) {
  b.precision().autocast = PrecisionWishes::Autocast::KeepsTypes;
  Value x = b.getInput();
  std::optional<NormalizedAxes> axes = x ? NormalizedAxes::read(b, x) : std::nullopt;
  const double epsilon = b.getNumber("epsilon", 1e-3);
  if (!axes || b.hasFailed())
    return {};
  const bool rms = b.getFlag("rms_scaling", false);
  const bool scale = b.getFlag("scale", true) || rms, center = b.getFlag("center", true) && !rms;
  Value gamma, beta;
  if (scale && !(gamma = addGamma(b, axes->shape)))
    return {};
  if (center && !(beta = addBeta(b, axes->shape)))
    return {};
  Value wide = makeWide(b, x);
  auto besideInput = [&](Value variable) -> Value {
    return variable ? b.makeReshape(b.makeCastLike(variable, wide), axes->broadcast) : Value();
  };
  auto moments = MomentsOp::create(b.builder, b.location, wide, axes->axes, /*keep_dims=*/true);
  Value y;
  if (rms) {
    Value inv = b.make<RsqrtOp>(b.make<AddOp>(moments.getVariance(), b.makeConstant(epsilon)));
    y = b.make<MultiplyOp>(b.make<MultiplyOp>(wide, inv), besideInput(gamma));
  } else {
    auto [inv, shift] = makeAffine(b, moments.getMean(), moments.getVariance(), besideInput(gamma),
                                   besideInput(beta), epsilon);
    y = b.make<AddOp>(b.make<MultiplyOp>(wide, inv), shift);
  }
  y = makeNarrow(b, y, x);
  return isInteger(x) ? b.makeCastToFloat(y) : y;
}

/// x rsqrt(mean(x^2) + epsilon) scale; the scale is autocast first, as the input.
Value importRmsNormalization(B &b) {
  Value x = b.getInput();
  std::optional<NormalizedAxes> axes = x ? NormalizedAxes::read(b, x) : std::nullopt;
  const double epsilon = b.getNumber("epsilon", 1e-6);
  if (!axes || b.hasFailed())
    return {};
  VariableRequest request{"scale", axes->shape, "", "", ""};
  request.defaultInitializer = "ones";
  Value scale = b.addVariable(request);
  if (!scale)
    return {};
  // Keras multiplies by the scale as it is, aligned at the last axis.
  if (failed(broadcastShapes({axes->shape, b.shapeOf(x)})))
    return b.error("the scale of RMSNormalization, which lies along 'axis', does not broadcast to "
                   "the input at its last axes; Keras cannot compute this either");
  Value wide = makeWide(b, x);
  Value square = b.make<ReduceOp>(ReduceKind::Mean, b.make<MultiplyOp>(wide, wide), axes->axes,
                                  /*keep_dims=*/true);
  Value inv = b.make<RsqrtOp>(b.make<AddOp>(square, b.makeConstant(epsilon)));
  Value y = b.make<MultiplyOp>(b.make<MultiplyOp>(wide, inv), b.makeCastLike(scale, wide));
  return makeNarrow(b, y, x);
}

// ---- GroupNormalization, UnitNormalization ------------------------------------------------------

Value importGroupNormalization(B &b) {
  b.precision().autocast = PrecisionWishes::Autocast::KeepsTypes;
  Value x = b.getInput();
  std::optional<int64_t> axis =
      x ? resolveAxis(b, b.getInteger("axis", -1), x) : std::optional<int64_t>();
  int64_t groups = b.getInteger("groups", 32);
  const double epsilon = b.getNumber("epsilon", 1e-3);
  if (!axis || b.hasFailed())
    return {};
  const int64_t channels = b.shapeOf(x)[*axis];
  if (groups == -1)
    groups = channels;
  if (groups <= 0 || channels % groups != 0)
    return b.error("'groups' of GroupNormalization is " + llvm::Twine(groups) +
                   ", which does not divide the " + llvm::Twine(channels) + " channels");
  Value gamma, beta;
  const bool scale = b.getFlag("scale", true), center = b.getFlag("center", true);
  if (scale && !(gamma = addGamma(b, channels)))
    return {};
  if (center && !(beta = addBeta(b, channels)))
    return {};
  // The channels as groups and members; statistics over all but the batch and the groups.
  llvm::SmallVector<int64_t> shape(b.shapeOf(x)), broadcast(shape.size() + 1, 1), axes;
  const llvm::SmallVector<int64_t> inputShape(shape);
  shape[*axis] = channels / groups;
  shape.insert(shape.begin() + *axis, groups);
  broadcast[*axis] = groups;
  broadcast[*axis + 1] = channels / groups;
  for (int64_t d = 1; d < int64_t(shape.size()); ++d)
    if (d != *axis)
      axes.push_back(d);
  Value grouped = b.makeReshape(x, shape);
  Value wide = makeWide(b, grouped);
  auto besideInput = [&](Value variable) -> Value {
    return variable ? b.makeCastLike(b.makeReshape(variable, broadcast), wide) : Value();
  };
  auto moments = MomentsOp::create(b.builder, b.location, wide, axes, /*keep_dims=*/true);
  auto [inv, shift] = makeAffine(b, moments.getMean(), moments.getVariance(), besideInput(gamma),
                                 besideInput(beta), epsilon);
  Value y = b.make<AddOp>(b.make<MultiplyOp>(wide, inv), shift);
  y = b.makeReshape(makeNarrow(b, y, grouped), inputShape);
  return isInteger(x) ? b.makeCastToFloat(y) : y;
}

/// x min(rsqrt(sum x^2), 1e12), of Keras 2 1e6. Keras computes it in the compute dtype, where
/// float16 overflows and underflows; here it is float32, rounded at the end (docs/numerics.md).
Value importUnitNormalization(B &b) {
  Value x = b.getFloatInput();
  std::optional<NormalizedAxes> axes = x ? NormalizedAxes::read(b, x) : std::nullopt;
  if (!axes)
    return {};
  return b.makeUnitNorm(x, axes->axes, b.layer.version.isKeras2() ? kLeastNormOfKeras2 : 1e-12);
}

constexpr LayerEntry kNormalizationLayers[] = {
    {"BatchNormalization", importBatchNormalization, Masking::PassesOn},
    {"GroupNormalization", importGroupNormalization, Masking::PassesOn},
    {"LayerNormalization", importLayerNormalization, Masking::PassesOn},
    {"RMSNormalization", importRmsNormalization},
    {"UnitNormalization", importUnitNormalization, Masking::PassesOn},
};

} // namespace

llvm::ArrayRef<LayerEntry> normalizationLayers() { return kNormalizationLayers; }

} // namespace mpc::keras
