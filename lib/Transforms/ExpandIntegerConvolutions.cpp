// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Convolutions of integers, which GPUs' libraries have not for channels-last images of any size, as
// products of what their windows read; those with a filter for each channel in float32.
#include "lib/Transforms/Fusion.h"

using namespace mlir;
using namespace mpc;

namespace {
/// One convolution, whose images get their border and are cut into taps.
class Expansion {
public:
  Expansion(IRRewriter &rewriter, ConvolutionOp op)
      : rewriter(rewriter), op(op), loc(op.getLoc()), window(op.getWindow()) {}

  void run();

private:
  /// `border` before and behind along the axis.
  Value pad(Value x, int64_t axis, int64_t low, int64_t high);
  /// The elements that a tap meets along the axis.
  Value slice(Value x, int64_t axis, int64_t first, int64_t step, int64_t count);
  /// [batch, places…, taps * channels], taps in the order of the filter.
  Value readTaps(Value x);

  IRRewriter &rewriter;
  ConvolutionOp op;
  const Location loc;
  const ConvolutionWindow window;
};
} // namespace

Value Expansion::pad(Value x, int64_t axis, int64_t low, int64_t high) {
  if (low == 0 && high == 0)
    return x;
  Value padded = PadOp::create(rewriter, loc, x, axis, low, high, llvm::APFloat(0.0));
  if (op.getBorder() == 0)
    return padded;
  // Integers are padded with zeros.
  auto type = tensorTypeOf(padded);
  SmallVector<int64_t> shape(type.getRank(), 1);
  shape[axis] = type.getDimSize(axis);
  SmallVector<APInt> added(size_t(shape[axis]), APInt(8, 0));
  const APInt border(8, op.getBorder(), /*isSigned=*/true, /*implicitTrunc=*/true);
  std::fill_n(added.begin(), low, border);
  std::fill_n(added.end() - high, high, border);
  auto constant = RankedTensorType::get(shape, type.getElementType());
  return AddOp::create(rewriter, loc, padded,
                       ConstantOp::create(rewriter, loc, DenseElementsAttr::get(constant, added)));
}

Value Expansion::slice(Value x, int64_t axis, int64_t first, int64_t step, int64_t count) {
  if (step == 1 || count == 1)
    return SliceOp::create(rewriter, loc, x, axis, first, count);
  ResampleTable table;
  table.axis = axis;
  for (int64_t i = 0; i < count; ++i)
    table.indices.push_back(first + i * step);
  return ResampleOp::create(rewriter, loc, x, ArrayRef(table));
}

Value Expansion::readTaps(Value x) {
  ArrayRef<int64_t> kernel = tensorTypeOf(op.getFilter()).getShape(),
                    outputs = tensorTypeOf(op.getResult()).getShape();
  SmallVector<Value> parts{x};
  for (int64_t d = 0; d < int64_t(window.strides.size()); ++d) {
    SmallVector<Value> along;
    for (Value part : parts)
      for (int64_t tap = 0; tap < kernel[d]; ++tap)
        along.push_back(
            slice(part, d + 1, tap * window.dilations[d], window.strides[d], outputs[d + 1]));
    parts = along;
  }
  if (parts.size() == 1)
    return parts.front();
  return ConcatenateOp::create(rewriter, loc, parts, tensorTypeOf(x).getRank() - 1);
}

void Expansion::run() {
  rewriter.setInsertionPoint(op);
  Value x = op.getInput();
  for (size_t d = 0; d < window.strides.size(); ++d)
    x = pad(x, int64_t(d) + 1, window.paddingLow[d], window.paddingHigh[d]);
  auto filter = tensorTypeOf(op.getFilter());
  const int64_t rank = filter.getRank(), filters = filter.getShape().back();
  if (op.getGroups() != 1) {
    // Float32 holds the sums of a channel's own filter.
    const auto widen = [&](Value value) -> Value {
      return CastOp::create(rewriter, loc, tensorTypeOf(value).clone(rewriter.getF32Type()), value);
    };
    ConvolutionWindow bordered = window;
    const SmallVector<int64_t> none(window.strides.size(), 0);
    bordered.paddingLow = bordered.paddingHigh = none;
    Value sums = ConvolutionOp::create(rewriter, loc, widen(x), widen(op.getFilter()), bordered);
    rewriter.replaceOpWithNewOp<CastOp>(op, op.getType(), sums);
    return;
  }
  Value matrix = ReshapeOp::create(
      rewriter, loc, filter.clone({filter.getNumElements() / filters, filters}), op.getFilter());
  rewriter.replaceOpWithNewOp<ContractOp>(op, readTaps(x), matrix, ArrayRef<int64_t>{rank - 1},
                                          ArrayRef<int64_t>{0});
}

void mpc::expandIntegerConvolutions(IRRewriter &rewriter, func::FuncOp function) {
  SmallVector<ConvolutionOp> found;
  function.walk([&](ConvolutionOp op) {
    if (elementTypeOf(op.getInput()).isInteger(8))
      found.push_back(op);
  });
  for (ConvolutionOp op : found)
    Expansion(rewriter, op).run();
}
