// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Normalisations. Statistics are in float32 or wider, results are rounded once to the input's type.
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Axes.h"

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;
using Extents = llvm::SmallVector<int64_t>;

Value getFloat(B &b, unsigned i = 0) {
  Value x = b.get(i);
  return x && !b.isFloat(x) ? b.error("takes floating tensors") : x;
}

Value widen(B &b, Value x) { return b.makeCastLike(x, x, /*wide=*/true); }

Extents axesFrom(int64_t first, int64_t rank) {
  return llvm::to_vector(llvm::seq<int64_t>(first, rank));
}

/// A vector along dimension 1 of a tensor of this rank; null after an error.
Value alongChannels(B &b, Value vector, int64_t channels, int64_t rank) {
  if (!vector)
    return {};
  if (b.rankOf(vector) != 1 || b.shapeOf(vector)[0] != channels)
    return b.error("scale, bias and statistics must have one number for each channel");
  Extents shape(size_t(rank - 1), 1);
  shape.front() = channels;
  return b.makeReshape(vector, shape);
}

/// (x - mean) / sqrt(variance + epsilon)
Value normalize(B &b, Value x, Value mean, Value variance, double epsilon) {
  Value inverse = b.make<RsqrtOp>(b.make<AddOp>(variance, b.makeConstant(epsilon)));
  return b.make<MultiplyOp>(b.make<SubtractOp>(x, mean), inverse);
}

std::pair<Value, Value> moments(B &b, Value x, llvm::ArrayRef<int64_t> axes, bool keepDims) {
  auto op = MomentsOp::create(b.builder, b.location, x, axes, keepDims);
  return {op.getMean(), op.getVariance()};
}

/// Training normalises with the batch's statistics and moves the running ones, also where the file
/// was exported for inference.
void batchNormalization(B &b) {
  b.attributes.ignore("is_test"); // until opset 6: predictions take the stored statistics
  Value x = getFloat(b);
  if (!x)
    return;
  const int64_t rank = b.rankOf(x);
  if (rank < 2)
    return (void)b.error("takes [batch, channels, ...]");
  const int64_t channels = b.shapeOf(x)[1];
  const double epsilon = b.attributes.getNumber("epsilon", 1e-5f),
               momentum = b.attributes.getNumber("momentum", 0.9f);
  const bool isTraining = b.attributes.getFlag("training_mode");
  if (b.opset < 9 && !b.attributes.getFlag("spatial", true))
    return (void)b.error("statistics for each element ('spatial' 0) are not supported");
  Value wide = widen(b, x), scale, bias, mean, variance;
  Value *vectors[] = {&scale, &bias, &mean, &variance};
  for (unsigned i = 0; i < 4; ++i) {
    Value given = getFloat(b, i + 1);
    if (!given)
      return;
    *vectors[i] = widen(b, given);
  }
  Extents axes{0};
  llvm::append_range(axes, axesFrom(2, rank));
  auto moved = [&](Value running, Value current) {
    return b.make<AddOp>(b.make<MultiplyOp>(running, b.makeConstant(momentum)),
                         b.make<MultiplyOp>(current, b.makeConstant(1.0 - momentum)));
  };
  const bool trains = isTraining || b.isVariable(3);
  if (trains) {
    auto [batchMean, batchVariance] = moments(b, wide, axes, /*keepDims=*/false);
    Value nextMean = moved(mean, batchMean), nextVariance = moved(variance, batchVariance);
    b.renew(3, b.makeCastLike(nextMean, b.get(3)));
    b.renew(4, b.makeCastLike(nextVariance, b.get(4)));
    if (isTraining) {
      b.setResult(1, b.makeCastLike(nextMean, b.get(3)), b.getType(3));
      b.setResult(2, b.makeCastLike(nextVariance, b.get(4)), b.getType(4));
      mean = batchMean, variance = batchVariance;
    } else {
      mean = b.make<InTrainingOp>(batchMean, mean);
      variance = b.make<InTrainingOp>(batchVariance, variance);
    }
  }
  for (Value *vector : vectors) {
    *vector = alongChannels(b, *vector, channels, rank);
    if (!*vector)
      return;
  }
  Value y = b.make<MultiplyOp>(normalize(b, wide, mean, variance, epsilon), scale);
  b.setResult(0, b.makeCastLike(b.make<AddOp>(y, bias), x), b.getType(0));
}

/// Normalised in the stash type, float32, then rounded, scaled and shifted in the input's type.
void layerNormalization(B &b) {
  Value x = getFloat(b), scale = getFloat(b, 1);
  if (!x || !scale)
    return;
  std::optional<int64_t> axis = b.resolveAxis(b.attributes.getInteger("axis", -1), b.rankOf(x));
  if (!axis)
    return;
  const Extents axes = axesFrom(*axis, b.rankOf(x));
  Value wide = widen(b, x);
  auto [mean, variance] = moments(b, wide, axes, /*keepDims=*/true);
  Value inverse = b.make<RsqrtOp>(
      b.make<AddOp>(variance, b.makeConstant(b.attributes.getNumber("epsilon", 1e-5f))));
  Value y = b.makeCastLike(b.make<MultiplyOp>(b.make<SubtractOp>(wide, mean), inverse), x);
  if (!b.checkBroadcast({y, scale}))
    return;
  y = b.make<MultiplyOp>(y, scale);
  if (b.has(2)) {
    Value bias = b.get(2);
    if (!b.checkBroadcast({y, bias}))
      return;
    y = b.make<AddOp>(y, bias);
  }
  b.setResult(0, y, b.getType(0));
  b.setResult(1, mean, DataType::Float);
  b.setResult(2, inverse, DataType::Float);
}

void rmsNormalization(B &b) {
  Value x = getFloat(b), scale = getFloat(b, 1);
  if (!x || !scale)
    return;
  std::optional<int64_t> axis = b.resolveAxis(b.attributes.getInteger("axis", -1), b.rankOf(x));
  if (!axis)
    return;
  Value wide = widen(b, x);
  Value square = b.makeReduce(ReduceKind::Mean, b.make<MultiplyOp>(wide, wide),
                              axesFrom(*axis, b.rankOf(x)), /*keepDims=*/true);
  Value inverse = b.make<RsqrtOp>(
      b.make<AddOp>(square, b.makeConstant(b.attributes.getNumber("epsilon", 1e-5f))));
  Value y = b.makeCastLike(b.make<MultiplyOp>(wide, inverse), x);
  if (b.checkBroadcast({y, scale}))
    b.setResult(0, b.make<MultiplyOp>(y, scale), b.getType(0));
}

/// Each channel of each sample by itself.
void instanceNormalization(B &b) {
  Value x = getFloat(b), scale = getFloat(b, 1), bias = getFloat(b, 2);
  if (!x || !scale || !bias)
    return;
  const int64_t rank = b.rankOf(x);
  if (rank < 3)
    return (void)b.error("takes [batch, channels, spatial...]");
  scale = alongChannels(b, widen(b, scale), b.shapeOf(x)[1], rank);
  bias = alongChannels(b, widen(b, bias), b.shapeOf(x)[1], rank);
  if (!scale || !bias)
    return;
  Value wide = widen(b, x);
  auto [mean, variance] = moments(b, wide, axesFrom(2, rank), /*keepDims=*/true);
  Value y = normalize(b, wide, mean, variance, b.attributes.getNumber("epsilon", 1e-5f));
  b.setResult(0, b.makeCastLike(b.make<AddOp>(b.make<MultiplyOp>(y, scale), bias), x),
              b.getType(0));
}

/// Groups of channels; scale and bias are for each group before opset 21, for each channel since.
void groupNormalization(B &b) {
  Value x = getFloat(b), scale = getFloat(b, 1), bias = getFloat(b, 2);
  if (!x || !scale || !bias)
    return;
  const int64_t rank = b.rankOf(x), groups = b.attributes.getInteger("num_groups", 0);
  if (rank < 2 || groups < 1 || b.shapeOf(x)[1] % groups != 0)
    return (void)b.error("takes [batch, channels, ...] whose channels are whole groups");
  const Extents shape(b.shapeOf(x));
  Extents grouped{shape[0], groups, shape[1] / groups};
  grouped.append(shape.begin() + 2, shape.end());
  Value wide = b.makeReshape(widen(b, x), grouped);
  auto [mean, variance] = moments(b, wide, axesFrom(2, rank + 1), /*keepDims=*/true);
  Value y = normalize(b, wide, mean, variance, b.attributes.getNumber("epsilon", 1e-5f));
  const bool isOfGroups = b.opset < 21;
  if (!isOfGroups)
    y = b.makeReshape(y, shape);
  scale = alongChannels(b, widen(b, scale), isOfGroups ? groups : shape[1],
                        isOfGroups ? rank + 1 : rank);
  bias = alongChannels(b, widen(b, bias), isOfGroups ? groups : shape[1],
                       isOfGroups ? rank + 1 : rank);
  if (!scale || !bias)
    return;
  y = b.make<AddOp>(b.make<MultiplyOp>(y, scale), bias);
  b.setResult(0, b.makeCastLike(b.makeReshape(y, shape), x), b.getType(0));
}

/// x / norm, 0 where the norm is 0.
void normNormalization(B &b) {
  Value x = getFloat(b);
  if (!x)
    return;
  std::optional<int64_t> axis = b.resolveAxis(b.attributes.getInteger("axis", -1), b.rankOf(x));
  const int64_t power = b.attributes.getInteger("p", 2);
  if (!axis)
    return;
  if (power != 1 && power != 2)
    return (void)b.error("'p' must be 1 or 2");
  Value wide = widen(b, x);
  Value sum = b.makeReduce(ReduceKind::Sum,
                           power == 1 ? b.make<AbsOp>(wide) : b.make<MultiplyOp>(wide, wide),
                           {*axis}, /*keepDims=*/true);
  Value norm = power == 1 ? sum : b.make<SqrtOp>(sum);
  b.setResult(0, b.makeCastLike(b.make<DivideNoNanOp>(wide, norm), x), b.getType(0));
}

/// x / (bias + alpha / size * sum of squares of the channels around)^beta
void localResponse(B &b) {
  Value x = getFloat(b);
  const int64_t size = b.attributes.getInteger("size", 0);
  if (!x)
    return;
  if (b.rankOf(x) < 3 || size < 1 || size > 4096)
    return (void)b.error("takes [batch, channels, spatial...] and a 'size' up to 4096");
  const int64_t channels = b.shapeOf(x)[1], before = (size - 1) / 2, after = size - 1 - before;
  Value wide = widen(b, x);
  Value padded =
      b.make<PadOp>(b.make<MultiplyOp>(wide, wide), 1, before, after, llvm::APFloat(0.0));
  Value sum;
  for (int64_t offset = 0; offset < size; ++offset) {
    Value part = b.make<SliceOp>(padded, 1, offset, channels);
    sum = sum ? b.make<AddOp>(sum, part) : part;
  }
  const double alpha = b.attributes.getNumber("alpha", 0.0001f);
  Value base = b.make<AddOp>(b.makeConstant(b.attributes.getNumber("bias", 1.0)),
                             b.make<MultiplyOp>(sum, b.makeConstant(alpha / double(size))));
  Value power = b.make<PowerOp>(base, b.makeConstant(b.attributes.getNumber("beta", 0.75f)));
  b.setResult(0, b.makeCastLike(b.make<DivideOp>(wide, power), x), b.getType(0));
}

/// The variance as the mean of squares less the square of the mean, as ONNX defines it.
void meanVariance(B &b) {
  Value x = getFloat(b);
  if (!x)
    return;
  Extents axes = b.attributes.getIntegers("axes");
  if (!b.attributes.has("axes"))
    axes = {0, 2, 3};
  auto resolved = b.resolveAxes(axes, b.rankOf(x));
  if (!resolved)
    return;
  Value wide = widen(b, x);
  auto [mean, variance] = moments(b, wide, *resolved, /*keepDims=*/true);
  Value deviation = b.make<AddOp>(b.make<SqrtOp>(variance), b.makeConstant(1e-9));
  b.setResult(0, b.makeCastLike(b.make<DivideOp>(b.make<SubtractOp>(wide, mean), deviation), x),
              b.getType(0));
}

constexpr OpEntry kTable[] = {
    {"BatchNormalization", 1, batchNormalization, nullptr, OpenBatch::anywhere},
    {"GroupNormalization", 18, groupNormalization},
    {"InstanceNormalization", 1, instanceNormalization},
    {"LRN", 1, localResponse},
    {"LayerNormalization", 17, layerNormalization, nullptr, OpenBatch::anywhere},
    {"LpNormalization", 1, normNormalization, nullptr, OpenBatch::anywhere},
    {"MeanVarianceNormalization", 9, meanVariance},
    {"RMSNormalization", 23, rmsNormalization, nullptr, OpenBatch::anywhere},
};

} // namespace

llvm::ArrayRef<OpEntry> getNormalizationOps() { return kTable; }

} // namespace mpc::onnx
