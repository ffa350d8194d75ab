// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Convolutions whose taps lie where another tensor moves them: a product with what is read there.
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

/// Taps of all places of a result, which are constants of the model.
constexpr int64_t kMostPlaces = int64_t(1) << 24;

/// The extents of a convolution of two spatial dimensions.
struct Deformed {
  Window window;
  int64_t batch = 0, channels = 0, outputs = 0; ///< outputs: channels
  int64_t groups = 1, offsetGroups = 1;
  int64_t rows = 0, columns = 0; ///< of the result

  int64_t taps() const { return window.kernel[0] * window.kernel[1]; }
  int64_t places() const { return rows * columns; }

  /// Where the taps lie along dimension `d` before they are moved: [1, taps * places].
  Value makePlaces(B &b, size_t d) const;
};

Value Deformed::makePlaces(B &b, size_t d) const {
  llvm::SmallVector<double> places;
  for (int64_t tapRow = 0; tapRow < window.kernel[0]; ++tapRow)
    for (int64_t tapColumn = 0; tapColumn < window.kernel[1]; ++tapColumn)
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = 0; column < columns; ++column)
          places.push_back(double((d ? column : row) * window.strides[d] +
                                  (d ? tapColumn : tapRow) * window.dilations[d] - window.low[d]));
  return b.makeConstant({1, int64_t(places.size())}, places);
}

/// Reads and checks the node's extents; nothing after an error.
std::optional<Deformed> read(B &b) {
  const Extents x = b.getShape(0), weights = b.getShape(1), offsets = b.getShape(2);
  Deformed d;
  d.groups = b.attributes.getInteger("group", 1);
  d.offsetGroups = b.attributes.getInteger("offset_group", 1);
  const auto isSpatial = [](int64_t extent) { return extent >= 1 && extent <= kMostSpatial; };
  if (x.size() != 4 || weights.size() != 4 || offsets.size() != 4 ||
      b.getType(0) == DataType::Double || !llvm::all_of(llvm::drop_begin(x), isSpatial) ||
      !llvm::all_of(weights, isSpatial) || !llvm::all_of(llvm::drop_begin(offsets), isSpatial)) {
    b.error("takes images [batch, channels, height, width] of at most float32, weights and offsets "
            "of 4 dimensions; the shapes are " +
            printShape(x) + ", " + printShape(weights) + " and " + printShape(offsets));
    return std::nullopt;
  }
  auto window =
      Window::read(b, llvm::ArrayRef(x).drop_front(2), llvm::ArrayRef(weights).drop_front(2));
  if (!window)
    return std::nullopt;
  d.window = *window;
  d.batch = x[0];
  d.channels = x[1];
  d.outputs = weights[0];
  d.rows = d.window.places(0, x[2]);
  d.columns = d.window.places(1, x[3]);
  const bool fits =
      d.groups >= 1 && d.offsetGroups >= 1 && d.channels % d.groups == 0 &&
      d.channels % d.offsetGroups == 0 && d.outputs % d.groups == 0 &&
      weights[1] == d.channels / d.groups && d.rows >= 1 && d.columns >= 1 &&
      d.window.kernel == llvm::ArrayRef(weights).drop_front(2) && d.taps() <= 1 << 16 &&
      d.places() <= kMostPlaces / d.taps() && offsets[1] == 2 * d.offsetGroups * d.taps() &&
      offsets[0] == d.batch && offsets[2] == d.rows && offsets[3] == d.columns &&
      (!b.has(3) || b.getShape(3) == Extents{d.outputs}) &&
      (!b.has(4) ||
       b.getShape(4) == Extents{d.batch, d.offsetGroups * d.taps(), d.rows, d.columns});
  if (!fits) {
    b.error("the shapes " + printShape(x) + ", " + printShape(weights) + " and " +
            printShape(offsets) + ", the groups and the window do not fit");
    return std::nullopt;
  }
  return d;
}

/// What the taps read, [batch, taps, places, channels]: each group of channels moves its own ones.
Value readTaps(B &b, const Deformed &d, Value image, Value offsets, Value mask) {
  const int64_t taps = d.taps(), count = taps * d.places(), own = d.channels / d.offsetGroups;
  llvm::SmallVector<Value> groups;
  for (int64_t group = 0; group < d.offsetGroups; ++group) {
    Value part = d.offsetGroups == 1 ? image : b.make<SliceOp>(image, int64_t(3), group * own, own);
    const Sampler sampler(b, part, Sampler::Border::Zeros, /*alignsCorners=*/true);
    Sampler::Values moved[2], shares[2];
    for (size_t axis = 0; axis < 2; ++axis) {
      // [batch, groups * taps, 2, places]
      Value shift = b.make<SliceOp>(offsets, int64_t(1), group * taps, taps);
      shift = b.make<SliceOp>(shift, int64_t(2), int64_t(axis), int64_t(1));
      Value place = b.make<AddOp>(b.makeReshape(shift, {d.batch, count}), d.makePlaces(b, axis));
      std::tie(moved[axis], shares[axis]) = linearTaps(b, place);
    }
    Value read = sampler.combine(moved, shares);
    if (mask) {
      Value factor = b.make<SliceOp>(mask, int64_t(1), group * taps, taps);
      read = b.make<MultiplyOp>(read, b.makeReshape(factor, {d.batch, count, 1}));
    }
    groups.push_back(b.makeReshape(read, {d.batch, taps, d.places(), own}));
  }
  return groups.size() == 1 ? groups.front()
                            : b.make<ConcatenateOp>(mlir::ValueRange(groups), int64_t(3));
}

void deformConv(B &b) {
  Value x = b.get(0), weights = b.get(1), offsets = b.get(2);
  if (!x || !weights || !offsets)
    return;
  Value bias = b.has(3) ? b.get(3) : Value(), mask = b.has(4) ? b.get(4) : Value();
  std::optional<Deformed> d = read(b);
  if (!d)
    return;
  const int64_t taps = d->taps();
  Value image = toChannelsLast(b, b.makeCastLike(x, x, /*wide=*/true));
  offsets = b.makeReshape(b.makeCastLike(offsets, image, /*wide=*/true),
                          {d->batch, d->offsetGroups * taps, 2, d->places()});
  if (mask)
    mask = b.makeCastLike(mask, image, /*wide=*/true);
  Value read = b.makeCastLike(readTaps(b, *d, image, offsets, mask), x);
  weights = b.makeReshape(weights, {d->outputs, d->channels / d->groups, taps});
  llvm::SmallVector<Value> products; // [batch, places, outputs]
  const int64_t inner = d->channels / d->groups, outer = d->outputs / d->groups;
  for (int64_t group = 0; group < d->groups; ++group) {
    const bool isAll = d->groups == 1;
    Value lhs = isAll ? read : b.make<SliceOp>(read, int64_t(3), group * inner, inner);
    Value rhs = isAll ? weights : b.make<SliceOp>(weights, int64_t(0), group * outer, outer);
    products.push_back(
        b.make<ContractOp>(lhs, rhs, Extents{}, Extents{}, Extents{1, 3}, Extents{2, 1}));
  }
  Value y = products.size() == 1 ? products.front()
                                 : b.make<ConcatenateOp>(mlir::ValueRange(products), int64_t(2));
  if (bias)
    y = b.make<AddOp>(y, bias);
  y = b.make<TransposeOp>(y, Extents{0, 2, 1});
  b.setResult(0, b.makeReshape(y, {d->batch, d->outputs, d->rows, d->columns}), b.getType(0));
}

constexpr OpEntry kTable[] = {
    {"DeformConv", 19, deformConv},
};

} // namespace

llvm::ArrayRef<OpEntry> getDeformedOps() { return kTable; }

} // namespace mpc::onnx
