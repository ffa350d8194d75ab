// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fourier transforms of whole axes and of frames. Complex numbers are pairs along the last axis.
#include "lib/Import/Common/Fourier.h"
#include "lib/Import/Common/Shape.h"
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/OpTable.h"
#include "lib/Import/ONNX/Ops/LastAxis.h"

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;
using Extents = llvm::SmallVector<int64_t>;

constexpr int64_t kMostSamples = int64_t(1) << 24;

/// Part `i` of the last axis, without it.
Value takePart(B &b, Value x, int64_t i) {
  const int64_t last = b.rankOf(x) - 1;
  Value part = b.shapeOf(x).back() == 1 ? x : b.make<SliceOp>(x, last, i, int64_t(1));
  return b.makeReshape(part, b.shapeOf(x).drop_back());
}

/// Input 0 in float32, whose last axis has real numbers, or real and imaginary parts; null after an
/// error.
Spectrum readParts(B &b) {
  Value x = b.get(0);
  if (!x)
    return {};
  const int64_t rank = b.rankOf(x), parts = rank ? b.shapeOf(x).back() : 0;
  if (!b.isFloat(x) || b.getType(0) == DataType::Double || rank < 3 || (parts != 1 && parts != 2)) {
    b.error("takes numbers of at most float32 whose last axis has 1 or 2 elements, the parts of a "
            "number; the input is of " +
            spell(b.getType(0)) + " and the shape " + printShape(b.shapeOf(x)));
    return {};
  }
  Value wide = b.makeCastLike(x, x, /*wide=*/true);
  return {takePart(b, wide, 0), parts == 2 ? takePart(b, wide, 1) : Value()};
}

Value joinParts(B &b, llvm::ArrayRef<Value> parts) {
  llvm::SmallVector<Value> columns;
  for (Value part : parts) {
    Extents shape(b.shapeOf(part));
    shape.push_back(1);
    columns.push_back(b.makeReshape(part, shape));
  }
  return columns.size() == 1
             ? columns.front()
             : b.make<ConcatenateOp>(mlir::ValueRange(columns), b.rankOf(columns.front()) - 1);
}

/// The first `count` elements of the last axis, behind them zeros where it has fewer.
Value fit(B &b, Value x, int64_t count) {
  const int64_t last = b.rankOf(x) - 1, extent = b.shapeOf(x).back();
  if (extent > count)
    return b.make<SliceOp>(x, last, int64_t(0), count);
  return extent == count ? x
                         : b.make<PadOp>(x, last, int64_t(0), count - extent, llvm::APFloat(0.0));
}

/// One positive number that is an input; nothing after an error, `otherwise` where it is left out.
std::optional<int64_t> readCount(B &b, unsigned i, llvm::StringRef what, int64_t otherwise) {
  if (!b.has(i))
    return otherwise;
  auto given = b.getIntegers(i, what);
  if (!given)
    return std::nullopt;
  if (given->size() == 1 && given->front() >= 1 && given->front() <= kMostSamples)
    return given->front();
  b.error(what + " must be one positive number, at most 2^24");
  return std::nullopt;
}

std::optional<int64_t> readAxis(B &b, int64_t rank) {
  int64_t axis = b.opset < 20 ? b.attributes.getInteger("axis", 1) : -2;
  if (b.opset >= 20 && b.has(2)) {
    auto given = b.getIntegers(2, "the axis");
    if (!given || given->size() != 1)
      return std::nullopt;
    axis = given->front();
  }
  std::optional<int64_t> resolved = b.resolveAxis(axis, rank);
  if (resolved && *resolved == rank - 1) {
    b.error("the axis has the parts of numbers");
    return std::nullopt;
  }
  return resolved;
}

void transform(B &b) {
  const bool isInverse = b.attributes.getFlag("inverse"), isHalf = b.attributes.getFlag("onesided");
  Spectrum x = readParts(b);
  if (!x)
    return;
  const int64_t rank = b.rankOf(x.real);
  auto axis = readAxis(b, rank + 1);
  if (!axis)
    return;
  const int64_t extent = b.shapeOf(x.real)[size_t(*axis)];
  if (mlir::ShapedType::isDynamic(extent) || extent < 1)
    return (void)b.errorOfOpenBatch("along the open batch");
  const bool isReal = isInverse && isHalf;
  auto length = readCount(b, 1, "dft_length", isReal ? 2 * (extent - 1) : extent);
  if (!length || *length < 1)
    return (void)(length && b.error("the signal is too short"));
  if ((isHalf && !isInverse && x.imaginary) || (isReal && !x.imaginary))
    return (void)b.error("'onesided' takes real numbers, and gives them back of complex ones");
  const LastAxis last(*axis, rank);
  const int64_t read = isReal ? *length / 2 + 1 : *length;
  const auto prepare = [&](Value part) { return part ? fit(b, last.move(b, part), read) : part; };
  x = {prepare(x.real), prepare(x.imaginary)};
  llvm::SmallVector<Value> parts;
  if (isReal) {
    parts = {invertReal(b, x, *length)};
  } else {
    if (isInverse && !x.imaginary)
      x.imaginary = b.make<MultiplyOp>(x.real, b.makeConstant(0.0));
    const Spectrum y = isInverse     ? invertComplex(b, x)
                       : x.imaginary ? transformComplex(b, x)
                                     : transformReal(b, x.real, isHalf ? *length / 2 + 1 : *length);
    parts = {y.real, y.imaginary};
  }
  if (!parts.front())
    return;
  for (Value &part : parts)
    part = last.restore(b, part);
  b.setResult(0, b.makeCastLike(joinParts(b, parts), b.get(0)), b.getType(0));
}

/// Frames of the signal [batch, samples, parts], each times the window, transformed.
void transformFrames(B &b) {
  Spectrum x = readParts(b);
  if (!x)
    return;
  const bool isHalf = b.attributes.getFlag("onesided", true);
  const int64_t samples = b.shapeOf(x.real).back();
  if (b.rankOf(x.real) != 2 || mlir::ShapedType::isDynamic(samples) || (isHalf && x.imaginary))
    return (void)b.error("takes signals [batch, samples, parts], onesided real ones");
  const Extents window = b.getShape(2);
  auto step = readCount(b, 1, "frame_step", 1);
  auto length = readCount(b, 3, "frame_length", window.size() == 1 ? window.front() : samples);
  if (!step || !length)
    return;
  if (*length > samples || (b.has(2) && window != Extents{*length}))
    return (void)b.error("frames of " + llvm::Twine(*length) + " samples of " +
                         llvm::Twine(samples) + ", with a window of the shape " +
                         printShape(window));
  Value weights;
  if (b.has(2)) {
    weights = b.get(2);
    if (!weights)
      return;
    weights = b.makeCastLike(weights, x.real, /*wide=*/true);
  }
  const auto cut = [&](Value part) {
    Value frames = cutFrames(b, part, *length, *step);
    return weights ? b.make<MultiplyOp>(frames, weights) : frames;
  };
  const Spectrum y = x.imaginary
                         ? transformComplex(b, {cut(x.real), cut(x.imaginary)})
                         : transformReal(b, cut(x.real), isHalf ? *length / 2 + 1 : *length);
  if (y)
    b.setResult(0, b.makeCastLike(joinParts(b, {y.real, y.imaginary}), b.get(0)), b.getType(0));
}

constexpr OpEntry kTable[] = {
    {"DFT", 17, transform},
    {"STFT", 17, transformFrames},
};

} // namespace

llvm::ArrayRef<OpEntry> getFourierOps() { return kTable; }

} // namespace mpc::onnx
