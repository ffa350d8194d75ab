// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Resize and its predecessor, Upsample: tables of mpc.resample where the scales are known.
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/Axes.h"
#include "lib/Import/ONNX/Ops/ResizeByCall.h"

#include <cmath>

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;
using Extents = llvm::SmallVector<int64_t>;
using Mode = Resizing::Mode;
using Rounding = Resizing::Rounding;
using Coordinates = Resizing::Coordinates;

template <typename T> struct Named {
  llvm::StringLiteral name;
  T value;
};

template <typename T, size_t N>
bool choose(B &b, llvm::StringRef attribute, llvm::StringRef otherwise, const Named<T> (&names)[N],
            T &value) {
  const llvm::StringRef given = b.attributes.getText(attribute, otherwise);
  for (const Named<T> &named : names)
    if (named.name == given) {
      value = named.value;
      return true;
    }
  b.error("'" + attribute + "' is '" + given + "', which is not supported");
  return false;
}

std::optional<Resizing> readResizing(B &b) {
  static constexpr Named<Mode> modes[] = {
      {"nearest", Mode::Nearest}, {"linear", Mode::Linear}, {"cubic", Mode::Cubic}};
  static constexpr Named<Rounding> roundings[] = {{"round_prefer_floor", Rounding::PreferFloor},
                                                  {"round_prefer_ceil", Rounding::PreferCeil},
                                                  {"floor", Rounding::Floor},
                                                  {"ceil", Rounding::Ceil}};
  static constexpr Named<Coordinates> coordinates[] = {
      {"half_pixel", Coordinates::HalfPixel},
      {"half_pixel_symmetric", Coordinates::HalfPixelSymmetric},
      {"pytorch_half_pixel", Coordinates::PytorchHalfPixel},
      {"align_corners", Coordinates::AlignCorners},
      {"asymmetric", Coordinates::Asymmetric},
      {"tf_crop_and_resize", Coordinates::CropAndResize}};
  Resizing resizing;
  // Opset 10 had no coordinates: they were asymmetric.
  const bool isOld = b.opset < 11;
  if (!choose(b, "mode", "nearest", modes, resizing.mode) ||
      !choose(b, "nearest_mode", isOld ? "floor" : "round_prefer_floor", roundings,
              resizing.rounding) ||
      !choose(b, "coordinate_transformation_mode", isOld ? "asymmetric" : "half_pixel", coordinates,
              resizing.coordinates))
    return std::nullopt;
  resizing.cubic = b.attributes.getNumber("cubic_coeff_a", -0.75);
  resizing.antialias = b.attributes.getFlag("antialias") && resizing.mode != Mode::Nearest;
  resizing.excludesOutside = b.attributes.getFlag("exclude_outside");
  b.attributes.ignore("extrapolation_value"); // where nothing is outside
  return resizing;
}

/// The extents that are asked for, of each axis; with an aspect ratio that is kept, those that
/// follow from the smallest or largest scale.
void setSizes(B &b, llvm::ArrayRef<int64_t> sizes, llvm::MutableArrayRef<ResizedAxis> axes) {
  const llvm::StringRef policy = b.attributes.getText("keep_aspect_ratio_policy", "stretch");
  double common = 0.0;
  for (const auto &[axis, size] : llvm::zip_equal(axes, sizes)) {
    axis.places = size;
    axis.scale = size == axis.extent ? 1.0 : double(size) / double(axis.extent);
    const bool isFirst = common == 0.0;
    common = isFirst                  ? axis.scale
             : policy == "not_larger" ? std::min(common, axis.scale)
                                      : std::max(common, axis.scale);
  }
  if (policy == "stretch")
    return;
  for (ResizedAxis &axis : axes) {
    axis.scale = common;
    axis.places = int64_t(std::floor(common * double(axis.extent) + 0.5));
  }
}

bool setScales(B &b, llvm::ArrayRef<double> scales, llvm::MutableArrayRef<ResizedAxis> axes) {
  if (scales.size() != axes.size()) {
    b.error("needs one scale for each axis");
    return false;
  }
  for (const auto &[axis, scale] : llvm::zip_equal(axes, scales)) {
    if (!(scale > 0 && scale < 1e6)) {
      b.error("a scale must be positive");
      return false;
    }
    axis.scale = scale;
    axis.places = mlir::ShapedType::isDynamic(axis.extent)
                      ? axis.extent
                      : int64_t(std::floor(double(axis.extent) * scale));
  }
  return true;
}

void apply(B &b, Value x, const Resizing &resizing, llvm::ArrayRef<ResizedAxis> axes) {
  llvm::SmallVector<ResampleTable> tables;
  const int64_t rank = b.rankOf(x);
  Value inside;
  for (const ResizedAxis &axis : axes) {
    const bool crops = resizing.coordinates == Coordinates::CropAndResize;
    if (axis.scale == 1.0 && axis.places == axis.extent && !crops)
      continue;
    if (mlir::ShapedType::isDynamic(axis.extent))
      return (void)b.errorOfOpenBatch("resizes the open batch");
    if (axis.places < 1 || axis.places > (int64_t(1) << 24))
      return (void)b.error("the result has no elements, or too many");
    tables.push_back(tabulate(resizing, axis));
    if (!crops)
      continue;
    llvm::SmallVector<bool> has;
    for (int64_t place = 0; place < axis.places; ++place)
      has.push_back(!isOutside(resizing, axis, place));
    if (!llvm::is_contained(has, false))
      continue;
    Extents shape(size_t(rank), 1);
    shape[size_t(axis.axis)] = axis.places;
    Value mask = b.makeMask(shape, has);
    inside = inside ? b.make<LogicalAndOp>(inside, mask) : mask;
  }
  llvm::sort(tables,
             [](const ResampleTable &a, const ResampleTable &c) { return a.axis < c.axis; });
  const mlir::Type element = elementTypeOf(x);
  const bool isCast = !b.isFloat(x) && resizing.mode != Mode::Nearest;
  Value y = resample(b, isCast ? b.makeCastToFloat(x) : x, tables);
  if (isCast)
    y = b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(y), element), y);
  if (inside) {
    Value outside = b.isFloat(y)
                        ? b.makeConstant(b.attributes.getNumber("extrapolation_value", 0.0))
                        : b.makeScalar(element, b.attributes.getNumber("extrapolation_value", 0.0));
    y = b.makeSelect(inside, y, outside);
  }
  b.setResult(0, y, b.getType(0));
}

/// The axes and the regions of interest; nothing after an error.
std::optional<llvm::SmallVector<ResizedAxis>> readAxes(B &b, Value x, const Resizing &resizing) {
  Extents named = b.attributes.getIntegers("axes");
  if (!b.attributes.has("axes"))
    named = llvm::to_vector(llvm::seq<int64_t>(0, b.rankOf(x)));
  llvm::SmallVector<ResizedAxis> axes;
  for (int64_t name : named) {
    std::optional<int64_t> axis = b.resolveAxis(name, b.rankOf(x));
    if (!axis)
      return std::nullopt;
    axes.push_back({*axis, b.shapeOf(x)[size_t(*axis)], b.shapeOf(x)[size_t(*axis)]});
  }
  if (resizing.coordinates == Coordinates::CropAndResize) {
    auto region = b.getNumbers(1, "the region of interest");
    if (!region)
      return std::nullopt;
    if (region->size() != 2 * axes.size()) {
      b.error("the region of interest needs two numbers for each axis");
      return std::nullopt;
    }
    for (size_t i = 0; i < axes.size(); ++i) {
      axes[i].begin = (*region)[i];
      axes[i].end = (*region)[i + axes.size()];
    }
  }
  return axes;
}

/// Scales, or a region of interest, that the call gives. False where both are constants.
bool resizesByCall(B &b, Value x, const Resizing &resizing, unsigned scalesInput) {
  const bool crops = resizing.coordinates == Coordinates::CropAndResize;
  const bool bySizes = b.opset >= 11 && b.has(3);
  const bool isFixed = bySizes || !b.has(scalesInput) || b.getLiteral(scalesInput);
  if (isFixed && (!crops || b.getLiteral(1)))
    return false;
  Extents named = b.attributes.getIntegers("axes");
  if (!b.attributes.has("axes"))
    named = llvm::to_vector(llvm::seq<int64_t>(0, b.rankOf(x)));
  auto resolved = b.resolveAxes(named, b.rankOf(x));
  auto stated = b.takeStatedShape(bySizes ? 3 : scalesInput, "the scales", 0, /*isRead=*/true);
  if (!resolved || !stated)
    return true;
  const int64_t count = int64_t(named.size());
  if (int64_t(stated->size()) != b.rankOf(x) ||
      b.getShape(bySizes ? 3 : scalesInput) != Extents{count} ||
      (crops && b.getShape(1) != Extents{2 * count}))
    return b.error("needs one scale for each axis, and two numbers of a region"), true;
  auto numberOf = [&](unsigned input, int64_t i) {
    return b.makeReshape(b.make<SliceOp>(b.get(input), 0, i, 1), {});
  };
  llvm::SmallVector<ResizedByCall> axes;
  for (int64_t i = 0; i < count; ++i) {
    ResizedByCall axis;
    axis.axis = named[size_t(i)] < 0 ? named[size_t(i)] + b.rankOf(x) : named[size_t(i)];
    axis.extent = b.shapeOf(x)[size_t(axis.axis)];
    axis.places = (*stated)[size_t(axis.axis)];
    axis.scale = bySizes ? b.makeConstant(double(axis.places) / double(axis.extent))
                         : numberOf(scalesInput, i);
    if (crops) {
      axis.begin = numberOf(1, i);
      axis.end = numberOf(1, i + count);
    }
    axes.push_back(axis);
  }
  if (Value y = resizeByCall(b, x, resizing, axes))
    b.setResult(0, y, b.getType(0));
  return true;
}

void resize(B &b) {
  Value x = b.get(0);
  auto resizing = readResizing(b);
  if (!x || !resizing || resizesByCall(b, x, *resizing, b.opset < 11 ? 1 : 2))
    return;
  auto axes = readAxes(b, x, *resizing);
  if (!axes)
    return;
  const unsigned scalesInput = b.opset < 11 ? 1 : 2;
  const bool bySizes = b.opset >= 11 && b.has(3);
  if (!bySizes) {
    auto scales = b.getNumbers(scalesInput, "the scales");
    if (scales && setScales(b, *scales, *axes))
      apply(b, x, *resizing, *axes);
    return;
  }
  Extents sizes;
  if (b.getLiteral(3)) {
    auto given = b.getExtents(3, "the sizes");
    if (!given)
      return;
    sizes = *given;
  } else if (b.attributes.getText("keep_aspect_ratio_policy", "stretch") != "stretch") {
    return (void)b.error("the sizes must be constant where the aspect ratio is kept");
  } else if (auto stated = b.takeStatedShape(3, "the sizes")) {
    for (const ResizedAxis &axis : *axes)
      sizes.push_back((*stated)[size_t(axis.axis)]);
  }
  if (sizes.size() != axes->size())
    return (void)b.error("needs one size for each axis");
  // The open batch may be named, and stays as it is.
  const bool stretches = b.attributes.getText("keep_aspect_ratio_policy", "stretch") == "stretch";
  for (const auto &[axis, size] : llvm::zip_equal(*axes, sizes)) {
    const bool isOpen = mlir::ShapedType::isDynamic(axis.extent);
    if (isOpen != mlir::ShapedType::isDynamic(size) ||
        (isOpen && (!stretches || b.getBatchFactor(0) != 1)))
      return (void)b.errorOfOpenBatch("resizes the open batch");
  }
  setSizes(b, sizes, *axes);
  apply(b, x, *resizing, *axes);
}

/// Before opset 9 the scales are an attribute.
void upsample(B &b) {
  Value x = b.get(0);
  if (!x)
    return;
  Resizing resizing;
  const llvm::StringRef mode = b.attributes.getText("mode", "nearest");
  resizing.mode = mode == "nearest" ? Mode::Nearest : Mode::Linear;
  resizing.rounding = Rounding::Floor;
  resizing.coordinates = Coordinates::Asymmetric;
  if (mode != "nearest" && mode != "linear" && mode != "bilinear")
    return (void)b.error("the mode '" + mode + "' is not supported");
  auto axes = readAxes(b, x, resizing);
  if (!axes)
    return;
  auto scales = b.opset < 9 ? std::optional(b.attributes.getNumbers("scales"))
                            : b.getNumbers(1, "the scales");
  if (scales && setScales(b, *scales, *axes))
    apply(b, x, resizing, *axes);
}

constexpr OpEntry kTable[] = {
    {"Resize", 10, resize},
    {"Upsample", 7, upsample},
};

} // namespace

llvm::ArrayRef<OpEntry> getResizeOps() { return kTable; }

} // namespace mpc::onnx
