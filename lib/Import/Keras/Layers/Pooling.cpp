// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/pooling: windowed, global and adaptive pools in 1 to 3 spatial dimensions.
#include "lib/Import/Keras/LayerRegistry.h"
#include "lib/Import/Keras/Layers/Spatial.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using Numbers = llvm::SmallVector<int64_t>;

bool hasFloats(Value value) { return mlir::isa<mlir::FloatType>(elementTypeOf(value)); }

/// Integers have a maximum in Keras (truth values have none), but no mean: mpc.pool is of floats.
Value getPooledImages(LayerBuilder &b, int64_t spatial, ReduceKind kind) {
  Value x = getImages(b, spatial, Integers::Kept);
  if (x && !hasFloats(x) && (kind != ReduceKind::Max || elementTypeOf(x).isInteger(1)))
    return b.error(b.layer.className + " of " +
                   (elementTypeOf(x).isInteger(1) ? "truth values" : "integers") +
                   " is not supported; give the model a floating input");
  return x;
}

/// The pool as maxima of the elements at the same index of each window, axis by axis: channels
/// last, exact for integers of any size.
Value poolIntegers(LayerBuilder &b, Value x, llvm::ArrayRef<PoolAxis> axes) {
  const int64_t most = 1024;
  for (auto [d, axis] : llvm::enumerate(axes)) {
    const int64_t taps = axis.mostElements();
    if (taps > most || axis.outputs > (int64_t(1) << 20))
      return b.error("a pool of integers over more than " + llvm::Twine(most) +
                     " elements is not supported");
    Value largest;
    for (int64_t tap = 0; tap < taps; ++tap) {
      ResampleTable table;
      table.axis = int64_t(d) + 1;
      // Shorter windows read their last element again.
      for (int64_t output = 0; output < axis.outputs; ++output)
        table.indices.push_back(std::min(axis.begin(output) + tap, axis.end(output) - 1));
      Value elements = b.make<ResampleOp>(x, llvm::ArrayRef<ResampleTable>(table));
      largest = largest ? b.make<MaximumOp>(largest, elements) : elements;
    }
    x = largest;
  }
  return x;
}

template <ReduceKind kind, int64_t spatial> Value importPool(LayerBuilder &b) {
  Value x = getPooledImages(b, spatial, kind);
  auto format = getDataFormat(b);
  auto window = getNumbers(b, "pool_size", spatial, 2);
  if (!x || !format || !window)
    return {};
  const llvm::json::Value *given = b.layer.config.get("strides");
  const bool hasStrides = given && given->kind() != llvm::json::Value::Null;
  auto strides = hasStrides ? getNumbers(b, "strides", spatial, 1) : window;
  const std::string padding = b.getString("padding", "valid");
  if (!strides)
    return {};
  x = toChannelsLast(b, *format, x);
  if (hasFloats(x)) {
    Value y = makePool(b, kind, x, *window, *strides, padding);
    return y ? fromChannelsLast(b, *format, y) : y;
  }
  if (padding != "valid" && padding != "same")
    return b.error("'padding' is '" + padding + "'; expected valid or same");
  llvm::SmallVector<PoolAxis> axes;
  for (size_t d = 0; d < spatial; ++d) {
    const int64_t extent = b.shapeOf(x)[d + 1], size = (*window)[d], stride = (*strides)[d];
    int64_t low = 0, high = 0;
    if (padding == "same")
      std::tie(low, high) = samePadding(extent, size, stride);
    else if (size > extent)
      return b.error("a window of " + llvm::Twine(size) + " elements does not fit into " +
                     llvm::Twine(extent));
    axes.push_back(
        {extent, convolvedExtent(extent, size, stride, low, high, 1), size, stride, low});
  }
  Value pooled = poolIntegers(b, x, axes);
  return pooled ? fromChannelsLast(b, *format, pooled) : pooled;
}

/// Windows that follow from the result's extents alone.
template <ReduceKind kind, int64_t spatial> Value importAdaptive(LayerBuilder &b) {
  Value x = getPooledImages(b, spatial, kind);
  auto format = getDataFormat(b);
  if (!b.layer.config.get("output_size"))
    b.error("'output_size' of " + b.layer.className + " is missing; expected integers");
  auto places = getNumbers(b, "output_size", spatial, 0);
  if (!x || !format || !places || b.hasFailed())
    return {};
  x = toChannelsLast(b, *format, x);
  Numbers shape(b.shapeOf(x));
  llvm::copy(*places, shape.begin() + 1);
  for (size_t d = 0; d < spatial; ++d)
    if ((*places)[d] > kMostSpatial / b.shapeOf(x)[d + 1])
      return b.error("'output_size' is too large");
  if (!hasFloats(x)) {
    llvm::SmallVector<PoolAxis> axes;
    for (size_t d = 0; d < spatial; ++d)
      axes.push_back({b.shapeOf(x)[d + 1], (*places)[d]});
    Value pooled = poolIntegers(b, x, axes);
    return pooled ? fromChannelsLast(b, *format, pooled) : pooled;
  }
  auto type = mlir::RankedTensorType::get(shape, elementTypeOf(x));
  const llvm::ArrayRef<int64_t> none;
  return fromChannelsLast(b, *format, b.make<PoolOp>(type, kind, x, none, none, none, none));
}

/// The mean of integers is float32, whatever the policy (keras/src/ops/numpy.py, mean).
Value getAveragedImages(LayerBuilder &b, int64_t spatial) {
  Value x = getImages(b, spatial, Integers::Kept);
  return x && !hasFloats(x) ? b.makeCastTo(x, b.builder.getF32Type()) : x;
}

template <ReduceKind kind, int64_t spatial> Value importGlobal(LayerBuilder &b) {
  Value x =
      kind == ReduceKind::Mean ? getAveragedImages(b, spatial) : getPooledImages(b, spatial, kind);
  auto format = getDataFormat(b);
  const bool keep = b.getFlag("keepdims", false);
  if (!x || !format || b.hasFailed())
    return {};
  Numbers axes;
  for (int64_t d = 0; d < spatial; ++d)
    axes.push_back(spatialAxis(*format, d));
  return b.make<ReduceOp>(kind, x, axes, keep);
}

/// With a mask the mean of the steps that count, in Keras's own steps: where, two sums, a division;
/// in float32 or wider, as every mean (Keras sums in the compute dtype, where float16 overflows).
Value importGlobalAverage1D(LayerBuilder &b) {
  Value mask = b.getMask(/*position=*/1);
  if (!mask || b.hasFailed())
    return importGlobal<ReduceKind::Mean, 1>(b);
  Value x = getAveragedImages(b, 1);
  auto format = getDataFormat(b);
  const bool keep = b.getFlag("keepdims", false);
  if (!x || !format || b.hasFailed())
    return {};
  const int64_t steps = spatialAxis(*format, 0);
  if (b.rankOf(mask) != 2 || b.shapeOf(mask).back() != b.shapeOf(x)[steps])
    return b.error("the mask of GlobalAveragePooling1D must have one element for each step");
  Numbers shape(3, 1);
  shape[0] = b.shapeOf(mask)[0];
  shape[steps] = b.shapeOf(mask)[1];
  mask = b.makeReshape(mask, shape);
  Value wide = b.makeCastLike(x, x, /*wide=*/true);
  Value kept = b.makeSelect(mask, wide, b.makeConstant(0.0));
  Value total = b.makeReduce(ReduceKind::Sum, kept, {steps}, keep);
  Value count =
      b.makeReduce(ReduceKind::Sum, b.makeCastLike(b.makeCastToFloat(mask), wide), {steps}, keep);
  return b.makeCastLike(b.make<DivideOp>(total, count), x);
}

constexpr LayerEntry kPoolingLayers[] = {
    {"AdaptiveAveragePooling1D", importAdaptive<ReduceKind::Mean, 1>},
    {"AdaptiveAveragePooling2D", importAdaptive<ReduceKind::Mean, 2>},
    {"AdaptiveAveragePooling3D", importAdaptive<ReduceKind::Mean, 3>},
    {"AdaptiveMaxPooling1D", importAdaptive<ReduceKind::Max, 1>},
    {"AdaptiveMaxPooling2D", importAdaptive<ReduceKind::Max, 2>},
    {"AdaptiveMaxPooling3D", importAdaptive<ReduceKind::Max, 3>},
    {"AveragePooling1D", importPool<ReduceKind::Mean, 1>},
    {"AveragePooling2D", importPool<ReduceKind::Mean, 2>},
    {"AveragePooling3D", importPool<ReduceKind::Mean, 3>},
    {"GlobalAveragePooling1D", importGlobalAverage1D},
    {"GlobalAveragePooling2D", importGlobal<ReduceKind::Mean, 2>},
    {"GlobalAveragePooling3D", importGlobal<ReduceKind::Mean, 3>},
    {"GlobalMaxPooling1D", importGlobal<ReduceKind::Max, 1>},
    {"GlobalMaxPooling2D", importGlobal<ReduceKind::Max, 2>},
    {"GlobalMaxPooling3D", importGlobal<ReduceKind::Max, 3>},
    {"MaxPooling1D", importPool<ReduceKind::Max, 1>},
    {"MaxPooling2D", importPool<ReduceKind::Max, 2>},
    {"MaxPooling3D", importPool<ReduceKind::Max, 3>},
};

} // namespace

llvm::ArrayRef<LayerEntry> poolingLayers() { return kPoolingLayers; }

} // namespace mpc::keras
