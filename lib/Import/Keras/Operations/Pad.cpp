// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras.ops.pad: constant, reflecting or repeating borders.
#include "lib/Import/Keras/Operations/OperationBuilder.h"

#include <algorithm>
#include <cmath>

namespace mpc::keras {

using mlir::Value;
using B = OperationBuilder;

/// Integers, or truth values, between constants.
static Value padIntegers(B &b, Value x, int64_t axis, int64_t low, int64_t high, int64_t value) {
  const int64_t extent = b.shapeOf(x)[axis];
  llvm::SmallVector<int64_t> places, shape(size_t(b.rankOf(x) - axis), 1);
  llvm::SmallVector<bool> isInside;
  for (int64_t place = -low; place < extent + high; ++place) {
    places.push_back(std::clamp<int64_t>(place, 0, extent - 1));
    isInside.push_back(place == places.back());
  }
  shape.front() = int64_t(places.size());
  return b.makeSelect(b.makeMask(shape, isInside), gatherAlong(b, x, axis, places),
                      b.makeScalar(elementTypeOf(x), value));
}

Value pad(B &b) {
  Operand operand = b.getOperand(0, "x");
  const Argument *widths = b.findArgument(1, "pad_width");
  if (!operand || !widths)
    return operand ? b.error("'Pad' needs 'pad_width'") : Value();
  Value x = operand.value;
  const int64_t rank = b.rankOf(x);
  llvm::SmallVector<std::pair<int64_t, int64_t>> pairs;
  auto integerOf = [](const Argument &item) {
    return item.kind == Argument::Kind::Constant ? item.constant.getAsInteger() : std::nullopt;
  };
  auto pairOf = [&](const Argument &item) -> bool {
    if (item.kind != Argument::Kind::List || item.items.size() != 2)
      return false;
    std::optional<int64_t> low = integerOf(item.items[0]), high = integerOf(item.items[1]);
    if (!low || !high || *low < 0 || *high < 0 || *low > 65536 || *high > 65536)
      return false;
    pairs.emplace_back(*low, *high);
    return true;
  };
  bool readable = widths->kind == Argument::Kind::List &&
                  (pairOf(*widths) || llvm::all_of(widths->items, pairOf));
  if (pairs.size() == 1)
    pairs.append(size_t(rank - 1), pairs.front());
  if (!readable || int64_t(pairs.size()) != rank)
    return b.error("'pad_width' of 'Pad' must hold two numbers per dimension");
  const std::string mode = b.getString(2, "mode", "constant");
  const double value = b.getNumber(3, "constant_values").value_or(0.0);
  for (const auto &[axis, widthsOfAxis] : llvm::enumerate(pairs)) {
    auto [low, high] = widthsOfAxis;
    if (low == 0 && high == 0)
      continue;
    if (tensorTypeOf(x).isDynamicDim(axis))
      return b.error("'Pad' of the batch is not supported");
    if (mode == "constant" && operand.isFloat()) {
      x = b.make<PadOp>(x, int64_t(axis), low, high, llvm::APFloat(value));
      continue;
    }
    if (mode == "constant") {
      if (value != std::trunc(value) || std::abs(value) > 0x1p53)
        return b.error("'constant_values' of 'Pad' of integers must be an integer");
      x = padIntegers(b, x, int64_t(axis), low, high, int64_t(value));
      continue;
    }
    const int64_t extent = b.shapeOf(x)[axis];
    llvm::SmallVector<int64_t> places;
    for (int64_t place = -low; place < extent + high; ++place) {
      int64_t from = place;
      if (mode == "reflect" || mode == "symmetric") {
        const int64_t edge = mode == "reflect" ? 0 : 1;
        if (from < 0)
          from = -from - edge;
        if (from >= extent)
          from = 2 * (extent - 1) - from + edge;
      }
      if (from < 0 || from >= extent)
        return b.error("'Pad' with mode '" + mode + "' is not supported here");
      places.push_back(from);
    }
    x = gatherAlong(b, x, int64_t(axis), places);
  }
  return x;
}

} // namespace mpc::keras
