// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations that take a tensor apart along an axis.
#include "lib/Import/Keras/Operations/OperationBuilder.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using B = OperationBuilder;

/// The parts between neighbouring bounds.
Value sliceBetween(B &b, Value x, int64_t axis, llvm::ArrayRef<int64_t> bounds) {
  Value first;
  for (size_t part = 0; part + 1 < bounds.size(); ++part) {
    Value slice = b.make<SliceOp>(x, axis, bounds[part], bounds[part + 1] - bounds[part]);
    if (part == 0)
      first = slice;
    else
      b.addResult(slice);
  }
  return first;
}

/// Equal parts, or parts that end at places.
Value splitAlong(B &b, Value x, int64_t axis) {
  std::optional<llvm::SmallVector<int64_t>> places = b.getIntegers(1, "indices_or_sections");
  if (!places)
    return b.error("'" + b.layer.className + "' needs 'indices_or_sections'");
  const int64_t extent = b.shapeOf(x)[axis];
  llvm::SmallVector<int64_t> bounds = {0};
  if (b.getLiteral(1, "indices_or_sections")) {
    const int64_t sections = places->front();
    if (sections <= 0 || extent % sections != 0)
      return b.error("'" + b.layer.className + "' into " + llvm::Twine(sections) +
                     " parts does not divide the " + llvm::Twine(extent) + " elements");
    for (int64_t part = 1; part < sections; ++part)
      bounds.push_back(part * (extent / sections));
  } else {
    for (int64_t place : *places)
      bounds.push_back(
          std::clamp<int64_t>(place < 0 ? place + extent : place, bounds.back(), extent));
  }
  bounds.push_back(extent);
  return sliceBetween(b, x, axis, bounds);
}

Value split(B &b) {
  Value x = b.getValue(0, "x");
  std::optional<int64_t> axis = x ? b.getAxis(2, "axis", 0, x) : std::nullopt;
  return axis ? splitAlong(b, x, *axis) : Value();
}

/// hsplit and dsplit: along the second and the third axis.
template <int axis> Value splitAt(B &b) {
  Value x = b.getValue(0, "x");
  if (x && b.rankOf(x) <= axis)
    return b.error("'" + b.layer.className + "' needs a tensor of " + llvm::Twine(axis + 1) +
                   " dimensions or more");
  return x ? splitAlong(b, x, axis) : Value();
}

/// Parts that differ by one element at most, the longer ones first.
Value splitArray(B &b) {
  Value x = b.getValue(0, "x");
  std::optional<int64_t> axis = x ? b.getAxis(2, "axis", 0, x) : std::nullopt,
                         sections = b.getInteger(1, "indices_or_sections");
  if (!axis || !sections)
    return {};
  const int64_t extent = b.shapeOf(x)[*axis];
  if (*sections < 1 || *sections > extent)
    return b.error("'ArraySplit' into " + llvm::Twine(*sections) + " parts of " +
                   llvm::Twine(extent) + " elements is not supported");
  llvm::SmallVector<int64_t> bounds = {0};
  for (int64_t part = 0; part < *sections; ++part)
    bounds.push_back(bounds.back() + extent / *sections + (part < extent % *sections));
  return sliceBetween(b, x, *axis, bounds);
}

Value unstack(B &b) {
  Value x = b.getValue(0, "x");
  std::optional<int64_t> axis = x ? b.getAxis(2, "axis", 0, x) : std::nullopt;
  if (!axis)
    return {};
  llvm::SmallVector<int64_t> shape(b.shapeOf(x));
  const int64_t extent = shape[*axis];
  shape.erase(shape.begin() + *axis);
  Value first;
  for (int64_t place = 0; place < extent; ++place) {
    Value slice = b.makeReshape(b.make<SliceOp>(x, *axis, place, 1), shape);
    if (place == 0)
      first = slice;
    else
      b.addResult(slice);
  }
  return first ? first : b.error("'Unstack' of an axis without elements");
}

constexpr OperationEntry kSplitOperations[] = {
    {"ArraySplit", splitArray}, {"Dsplit", splitAt<2>}, {"Hsplit", splitAt<1>},
    {"Split", split},           {"Unstack", unstack},
};

} // namespace

llvm::ArrayRef<OperationEntry> splitOperations() { return kSplitOperations; }

} // namespace mpc::keras
