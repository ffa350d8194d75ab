// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elements of images at places that other tensors say, between those that there are.
#include "lib/Import/Common/Shape.h"
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Sampler.h"
#include "lib/Import/ONNX/Ops/Windows.h"

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;
using Extents = llvm::SmallVector<int64_t>;
using Values = Sampler::Values;
using Border = Sampler::Border;

Value scale(B &b, Value x, double factor) { return b.make<MultiplyOp>(x, b.makeConstant(factor)); }
Value shift(B &b, Value x, double term) { return b.make<AddOp>(x, b.makeConstant(term)); }

std::optional<Border> readBorder(B &b) {
  const llvm::StringRef name = b.attributes.getText("padding_mode", "zeros");
  if (name == "zeros")
    return Border::Zeros;
  if (name == "border")
    return Border::Nearest;
  if (name == "reflection")
    return Border::Reflected;
  b.error("the padding_mode '" + name + "' is not supported");
  return std::nullopt;
}

/// [batch, channels, spatial…] at the places of a grid [batch, places…, dimensions], which names
/// the last dimension first.
void gridSample(B &b) {
  Value x = b.get(0), grid = b.get(1);
  auto border = readBorder(b);
  if (!x || !grid || !border)
    return;
  const bool alignsCorners = b.attributes.getFlag("align_corners");
  const llvm::StringRef mode = b.attributes.getText("mode", b.opset < 20 ? "bilinear" : "linear");
  const int64_t rank = b.rankOf(x), dimensions = rank - 2;
  const bool isCubic = mode == "cubic" || mode == "bicubic", isNearest = mode == "nearest";
  if (!isCubic && !isNearest && mode != "linear" && mode != "bilinear")
    return (void)b.error("the mode '" + mode + "' is not supported");
  if (!b.isFloat(x) || !b.isFloat(grid) || b.getType(0) == DataType::Double || dimensions < 1 ||
      (isCubic && dimensions != 2) || b.rankOf(grid) != rank ||
      b.shapeOf(grid).back() != dimensions || b.shapeOf(grid).front() != b.shapeOf(x).front() ||
      llvm::any_of(
          b.shapeOf(x).drop_front(2),
          [](int64_t extent) { return extent < 1 || extent > kMostSpatial; }))
    return (void)b.error("takes images [batch, channels, spatial...] of at most float32 and a grid "
                         "[batch, places..., dimensions]; the shapes are " +
                         printShape(b.shapeOf(x)) + " and " + printShape(b.shapeOf(grid)));
  Value image = toChannelsLast(b, b.makeCastLike(x, x, /*wide=*/true));
  Value wideGrid = b.makeCastLike(grid, image, /*wide=*/true);
  Extents places(b.shapeOf(grid).drop_back());
  int64_t count = 1;
  for (int64_t extent : llvm::ArrayRef(places).drop_front())
    count *= extent;
  const Sampler sampler(b, image, *border, alignsCorners);
  llvm::SmallVector<Values> taps, weights;
  for (int64_t d = 0; d < dimensions; ++d) {
    Value along = b.make<SliceOp>(wideGrid, rank - 1, dimensions - 1 - d, int64_t(1));
    along = sampler.fromUnit(b.makeReshape(along, {places.front(), count}), size_t(d));
    if (isNearest) {
      taps.push_back({b.make<RoundOp>(along)});
      continue;
    }
    auto [own, shares] = isCubic ? cubicTaps(b, along) : linearTaps(b, along);
    taps.push_back(own);
    weights.push_back(shares);
  }
  Values nearest;
  for (const Values &own : taps)
    nearest.push_back(own.front());
  Value y = isNearest ? sampler.at(nearest) : sampler.combine(taps, weights);
  places.push_back(b.shapeOf(x)[1]);
  y = fromChannelsLast(b, b.makeReshape(y, places));
  b.setResult(0, b.makeCastLike(y, x), b.getType(0));
}

/// Means of samples in a grid over each region [x1, y1, x2, y2] of the image that an index names.
/// The largest is that of all taps with their weights, as onnxruntime has it.
void roiAlign(B &b) {
  Value x = b.get(0), regions = b.get(1), images = b.get(2);
  if (!x || !regions || !images)
    return;
  const int64_t rows = b.attributes.getInteger("output_height", 1),
                columns = b.attributes.getInteger("output_width", 1),
                samples = b.attributes.getInteger("sampling_ratio", 0);
  const double factor = b.attributes.getNumber("spatial_scale", 1.0);
  const llvm::StringRef mode = b.attributes.getText("mode", "avg");
  const llvm::StringRef pixels = b.attributes.getText(
      "coordinate_transformation_mode", b.opset < 16 ? "output_half_pixel" : "half_pixel");
  const bool isHalf = pixels == "half_pixel";
  if (!isHalf && pixels != "output_half_pixel")
    return (void)b.error("the coordinate_transformation_mode '" + pixels +
                         "' is not supported; expected half_pixel or output_half_pixel");
  const auto isSmall = [](int64_t number) { return number >= 1 && number <= (1 << 15); };
  const bool isLargest = mode == "max";
  if ((!isLargest && mode != "avg") || samples < 1)
    return (void)b.error("with the mode '" + mode + "' and the sampling_ratio " +
                         llvm::Twine(samples) +
                         " is not supported; expected avg or max of a known number of samples");
  if (!b.isFloat(x) || b.getType(0) == DataType::Double || b.rankOf(x) != 4 ||
      b.rankOf(regions) != 2 || b.shapeOf(regions)[1] != 4 || b.rankOf(images) != 1 ||
      !isSmall(rows) || !isSmall(columns) || !isSmall(samples) ||
      rows * columns > kMostSpatial / (samples * samples) || b.shapeOf(x)[2] < 1 ||
      b.shapeOf(x)[3] < 1 || b.shapeOf(x)[2] > kMostSpatial || b.shapeOf(x)[3] > kMostSpatial)
    return (void)b.error("takes images [batch, channels, height, width] of at most float32 and "
                         "regions [count, 4]");
  const int64_t count = b.shapeOf(regions).front();
  Value wide = toChannelsLast(b, b.makeCastLike(x, x, /*wide=*/true));
  const Sampler sampler(b, b.make<GatherOp>(wide, images, int64_t(0), int64_t(0)), Border::Nearest,
                        /*alignsCorners=*/true);
  regions = scale(b, b.makeCastLike(regions, wide, /*wide=*/true), factor);
  if (isHalf)
    regions = shift(b, regions, -0.5);
  const auto corner = [&](int64_t i) {
    return b.make<SliceOp>(regions, int64_t(1), i, int64_t(1));
  };
  const int64_t extents[] = {rows, columns};
  Value inside;
  llvm::SmallVector<Values> taps, weights;
  for (int64_t d = 0; d < 2; ++d) {
    Value first = corner(1 - d), size = b.make<SubtractOp>(corner(3 - d), first);
    if (!isHalf) // a region has an element at least
      size = b.make<MaximumOp>(size, b.makeConstant(1.0));
    llvm::SmallVector<double> parts; // of the region, in the order of the grid
    for (int64_t i = 0; i < rows * samples; ++i)
      for (int64_t j = 0; j < columns * samples; ++j)
        parts.push_back((double(d ? j : i) + 0.5) / double(samples * extents[d]));
    Value grid = b.makeConstant({1, int64_t(parts.size())}, parts);
    Value place = b.make<AddOp>(first, b.make<MultiplyOp>(size, grid));
    Value isInside =
        b.make<LogicalAndOp>(b.makeCompare(ComparePredicate::GE, place, b.makeConstant(-1.0)),
                             b.makeCompare(ComparePredicate::LE, place,
                                           b.makeConstant(double(b.shapeOf(x)[size_t(d) + 2]))));
    inside = inside ? b.make<LogicalAndOp>(inside, isInside) : isInside;
    auto [own, shares] = linearTaps(b, sampler.bring(place, size_t(d)));
    taps.push_back(own);
    weights.push_back(shares);
  }
  Value y = sampler.combine(taps, weights, isLargest);
  Extents column(b.shapeOf(inside));
  column.push_back(1);
  y = b.makeSelect(b.makeReshape(inside, column), y, b.makeConstant(0.0));
  y = b.makeReshape(y, {count, rows, samples, columns, samples, b.shapeOf(x)[1]});
  y = b.makeReduce(isLargest ? ReduceKind::Max : ReduceKind::Mean, y, {2, 4}, /*keepDims=*/false);
  b.setResult(0, b.makeCastLike(fromChannelsLast(b, y), x), b.getType(0));
}

constexpr OpEntry kTable[] = {
    {"GridSample", 16, gridSample},
    {"RoiAlign", 10, roiAlign},
};

} // namespace

llvm::ArrayRef<OpEntry> getSamplingOps() { return kTable; }

} // namespace mpc::onnx
