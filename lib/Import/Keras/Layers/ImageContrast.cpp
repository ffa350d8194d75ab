// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/preprocessing/image_preprocessing: AutoContrast, and Equalization, which Keras
// does in training alone.
#include "lib/Import/Keras/LayerRegistry.h"
#include "lib/Import/Keras/Layers/RandomImages.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using B = LayerBuilder;

/// The smallest and the largest value of each channel become 0 and 255; channels of one value,
/// whose results are NaN, stay. Keras reduces axes 1 and 2 in channels_first, too.
Value importAutoContrast(B &b) {
  b.precision().autocast = PrecisionWishes::Autocast::CastsIntegers;
  Value images = getImages(b, 2, Integers::Cast);
  auto values = getValueRange(b);
  if (!images || !values)
    return {};
  const NumberRange colours = {0, 255};
  Value x = moveRange(b, images, *values, colours);
  Value low = b.makeReduce(ReduceKind::Min, x, {1, 2}, /*keepDims=*/true),
        high = b.makeReduce(ReduceKind::Max, x, {1, 2}, /*keepDims=*/true);
  Value scale = b.make<DivideOp>(b.makeConstant(255), b.make<SubtractOp>(high, low));
  Value offset = b.make<MultiplyOp>(b.make<NegateOp>(low), scale);
  x = clip(b, b.make<AddOp>(b.make<MultiplyOp>(x, scale), offset), colours);
  x = moveRange(b, x, colours, *values);
  return b.makeSelect(b.makeCompare(ComparePredicate::NE, x, x), images, x);
}

/// The counts of each channel's values over the whole batch, [channels, bins], in float64, which
/// counts exactly.
Value countValues(B &b, Value places, int64_t bins) {
  llvm::ArrayRef<int64_t> shape = b.shapeOf(places);
  const int64_t channels = shape.back();
  Value ones = b.make<AddOp>(b.make<MultiplyOp>(b.makeCastToFloat(places), b.makeConstant(0)),
                             b.makeConstant(1));
  llvm::SmallVector<double> zeros(size_t(channels * bins), 0.0);
  const mlir::Type f64 = b.builder.getF64Type();
  Value like = b.makeCastTo(b.makeConstant({channels * bins}, zeros), f64);
  Value counts = b.make<ScatterAddOp>(places, b.makeCastTo(ones, f64), like,
                                      /*axis=*/0, /*batch_dims=*/0);
  return b.makeReshape(counts, {channels, bins});
}

/// Where the values of a channel go: by how many are below them, in 255 steps. [channels, bins].
Value makeTable(B &b, Value counts) {
  const int64_t bins = b.shapeOf(counts).back();
  llvm::SmallVector<double> upTo(size_t(bins * bins), 0.0);
  for (int64_t from = 0; from < bins; ++from)
    for (int64_t to = from; to < bins; ++to)
      upTo[size_t(from * bins + to)] = 1.0;
  const mlir::Type f64 = b.builder.getF64Type();
  auto number = [&](double value) { return b.makeCastTo(b.makeConstant(value), f64); };
  Value sums = b.make<ContractOp>(counts, b.makeCastTo(b.makeConstant({bins, bins}, upTo), f64),
                                  llvm::ArrayRef<int64_t>{1}, llvm::ArrayRef<int64_t>{0});
  Value all = b.make<SliceOp>(sums, /*axis=*/1, /*offset=*/bins - 1, /*size=*/1);
  Value isPositive = b.makeCompare(ComparePredicate::GT, sums, number(0));
  Value first = b.makeReduce(ReduceKind::Min, b.makeSelect(isPositive, sums, all), {1}, true);
  Value divisor = b.make<SubtractOp>(all, first);
  divisor =
      b.makeSelect(b.makeCompare(ComparePredicate::EQ, divisor, number(0)), number(1), divisor);
  Value steps =
      b.make<DivideOp>(b.make<MultiplyOp>(b.make<SubtractOp>(sums, first), number(255)), divisor);
  return b.makeCastTo(clip(b, b.make<RoundOp>(steps), {0, 255}), b.builder.getF32Type());
}

Value importEqualization(B &b) {
  std::optional<ImageBatch> batch = getAugmentedImages(b);
  auto values = getValueRange(b);
  const int64_t bins = b.getInteger("bins", 256);
  if (!batch || !values || b.hasFailed())
    return {};
  if (bins < 2 || bins > 1024)
    return b.error("'bins' of Equalization must be in [2, 1024]");
  const int64_t channels = b.shapeOf(batch->images)[3];
  if (channels > (int64_t(1) << 20) / bins || values->low == values->high)
    return b.error("Equalization of " + llvm::Twine(channels) + " channels in " +
                   llvm::Twine(bins) + " bins of this 'value_range' is not supported");
  auto scale = [&](Value x, NumberRange from, NumberRange to) {
    const double factor = (to.high - to.low) / (from.high - from.low);
    return b.make<AddOp>(b.make<MultiplyOp>(x, b.makeConstant(factor)),
                         b.makeConstant(to.low - from.low * factor));
  };
  Value x = scale(batch->images, *values, {0, 255});
  const double last = double(bins - 1);
  // The place of each value in a table of all channels' bins.
  llvm::SmallVector<int64_t> starts;
  for (int64_t channel = 0; channel < channels; ++channel)
    starts.push_back(channel * bins);
  auto placesOf = [&](Value scaled) {
    Value inside = clip(b, scaled, {0, last});
    auto integers = mlir::RankedTensorType::get(b.shapeOf(x), b.builder.getI32Type());
    return b.make<AddOp>(b.make<CastOp>(integers, inside), b.makeIndices({channels}, starts));
  };
  Value wide = b.makeCastTo(x, b.builder.getF32Type());
  Value counts =
      countValues(b,
                  placesOf(b.make<DivideOp>(b.make<MultiplyOp>(wide, b.makeConstant(last)),
                                            b.makeConstant(255))),
                  bins);
  Value table = b.makeReshape(makeTable(b, counts), {channels * bins});
  Value places =
      placesOf(b.make<MultiplyOp>(b.make<DivideOp>(x, b.makeConstant(255)), b.makeConstant(last)));
  Value equalized = b.make<GatherOp>(table, places, /*axis=*/0, /*batch_dims=*/0);
  // A channel whose values are all in one bin stays.
  Value none = b.makeCastTo(b.makeConstant(0), b.builder.getF64Type());
  Value isUsed = b.makeCompare(ComparePredicate::GT, counts, none);
  Value used = b.makeReduce(ReduceKind::Sum, b.makeCastToFloat(isUsed), {1}, /*keepDims=*/false);
  Value kept = widen(b, x);
  equalized = b.makeSelect(b.makeCompare(ComparePredicate::LE, used, b.makeConstant(1)), kept,
                           b.makeCastLike(equalized, kept));
  return batch->finish(b, b.makeCastLike(scale(equalized, {0, 255}, *values), batch->images));
}

constexpr LayerEntry kContrastLayers[] = {
    {"AutoContrast", importAutoContrast},
    {"Equalization", importEqualization},
};

} // namespace

llvm::ArrayRef<LayerEntry> imageContrastLayers() { return kContrastLayers; }

} // namespace mpc::keras
