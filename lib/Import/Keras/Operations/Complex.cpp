// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Complex numbers, which keras.ops takes and returns as pairs of real tensors: Fourier transforms
// along the last axes (docs/decisions/0052), and what real numbers are as complex ones.
#include "lib/Import/Common/Fourier.h"
#include "lib/Import/Keras/Operations/OperationBuilder.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using B = OperationBuilder;

constexpr int64_t kMostSamples = int64_t(1) << 30;

/// By constants of float32 (docs/decisions/0052).
bool refuseFloat64(B &b) { return b.refuseFloat64(0, "x", "transforms are in float32"); }

/// A floating tensor in float32 whose last `axes` axes are none of the batch; null after an error.
Value checkSignal(B &b, Value x, int64_t axes) {
  const int64_t rank = b.rankOf(x);
  if (rank <= axes)
    return b.error("'" + b.layer.className + "' of a tensor of " + llvm::Twine(rank) +
                   " dimensions transforms across samples, which is not supported");
  for (int64_t extent : b.shapeOf(x).take_back(axes))
    if (extent < 1 || extent > kMostSamples)
      return b.error("'" + b.layer.className + "' of an axis of " + llvm::Twine(extent) +
                     " elements is not supported");
  return b.makeCastTo(x, b.builder.getF32Type());
}

/// The tensor 'x' as it is given and in float32; null after an error.
struct Signal {
  Value given, x;

  static std::optional<Signal> read(B &b) {
    Operand operand = refuseFloat64(b) ? Operand() : b.getOperand(0, "x");
    if (!operand)
      return std::nullopt;
    if (!operand.isFloat()) {
      b.error("'" + b.layer.className + "' takes floating tensors");
      return std::nullopt;
    }
    Value x = checkSignal(b, operand.value, 1);
    return x ? std::optional<Signal>({operand.value, x}) : std::nullopt;
  }
};

/// The pair 'x' in float32 and what its results are cast like; nothing after an error.
struct Pair {
  Value given;
  Spectrum parts;

  static std::optional<Pair> read(B &b, int64_t axes) {
    if (refuseFloat64(b))
      return std::nullopt;
    llvm::SmallVector<Operand> operands = b.getOperands(0, "x");
    if (b.hasFailed())
      return std::nullopt;
    if (operands.size() != 2 || !operands[0].isFloat() || !operands[1].isFloat() ||
        b.shapeOf(operands[0].value) != b.shapeOf(operands[1].value)) {
      b.error("'" + b.layer.className +
              "' takes a pair of floating tensors of one shape, real and imaginary parts");
      return std::nullopt;
    }
    Pair pair{operands[0].value, {checkSignal(b, operands[0].value, axes), Value()}};
    pair.parts.imaginary = pair.parts ? checkSignal(b, operands[1].value, axes) : Value();
    return pair.parts ? std::optional(pair) : std::nullopt;
  }
};

/// Both parts in the dtype of `like`; null stays.
Value give(B &b, const Spectrum &y, Value like) {
  if (!y)
    return {};
  b.addResult(b.makeCastLike(y.imaginary, like));
  return b.makeCastLike(y.real, like);
}

/// The first `extent` elements of the last axis, zeros where there are fewer.
Value fit(B &b, Value x, int64_t extent) {
  const int64_t axis = b.rankOf(x) - 1, given = b.shapeOf(x)[axis];
  if (extent < given)
    return b.make<SliceOp>(x, axis, int64_t(0), extent);
  return extent > given ? b.make<PadOp>(x, axis, int64_t(0), extent - given, llvm::APFloat(0.0))
                        : x;
}

/// 'fft_length' where it is given; nothing after an error.
std::optional<int64_t> getLength(B &b, int64_t otherwise) {
  const int64_t length = b.getInteger(kKeywordOnly, "fft_length").value_or(otherwise);
  if (b.hasFailed())
    return std::nullopt;
  if (length >= 1 && length <= kMostSamples)
    return length;
  b.error("'fft_length' of '" + b.layer.className + "' is " + llvm::Twine(length) +
          "; expected a positive number");
  return std::nullopt;
}

Value transform(B &b) {
  std::optional<Pair> pair = Pair::read(b, 1);
  return pair ? give(b, transformComplex(b, pair->parts), pair->given) : Value();
}

using TransformFn = Spectrum (*)(ValueBuilder &, const Spectrum &);

/// Along both of the last axes.
template <TransformFn along> Value transformPlane(B &b) {
  std::optional<Pair> pair = Pair::read(b, 2);
  if (!pair)
    return {};
  llvm::SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, b.rankOf(pair->given)));
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  auto exchange = [&](const Spectrum &y) {
    return y ? Spectrum{b.make<TransposeOp>(y.real, order), b.make<TransposeOp>(y.imaginary, order)}
             : y;
  };
  Spectrum y = exchange(along(b, pair->parts));
  return y ? give(b, exchange(along(b, y)), pair->given) : Value();
}

Value transformSignal(B &b) {
  std::optional<Signal> signal = Signal::read(b);
  std::optional<int64_t> length = signal ? getLength(b, b.shapeOf(signal->x).back()) : std::nullopt;
  return length
             ? give(b, transformReal(b, fit(b, signal->x, *length), *length / 2 + 1), signal->given)
             : Value();
}

Value invertSignal(B &b) {
  std::optional<Pair> pair = Pair::read(b, 1);
  std::optional<int64_t> length =
      pair ? getLength(b, 2 * (b.shapeOf(pair->given).back() - 1)) : std::nullopt;
  if (!length)
    return {};
  const int64_t bins = *length / 2 + 1;
  Value y =
      invertReal(b, {fit(b, pair->parts.real, bins), fit(b, pair->parts.imaginary, bins)}, *length);
  return y ? b.makeCastLike(y, pair->given) : y;
}

// ---- Short-time transforms ----------------------------------------------------------------------

/// Nothing after an error; numbers are checked where they are used.
std::optional<ShortTimeFourier> readFrames(B &b) {
  ShortTimeFourier frames;
  frames.sequenceLength = b.getInteger(kKeywordOnly, "sequence_length").value_or(0);
  frames.sequenceStride = b.getInteger(kKeywordOnly, "sequence_stride").value_or(0);
  frames.length = b.getInteger(kKeywordOnly, "fft_length").value_or(0);
  // None is no window.
  frames.window =
      b.findArgument(kKeywordOnly, "window") ? b.getString(kKeywordOnly, "window", "") : "";
  frames.center = b.getFlag(kKeywordOnly, "center", true);
  return b.hasFailed() ? std::nullopt : std::optional(frames);
}

Value transformFrames(B &b) {
  std::optional<Signal> signal = Signal::read(b);
  std::optional<ShortTimeFourier> frames = signal ? readFrames(b) : std::nullopt;
  return frames ? give(b, frames->transform(b, signal->x), signal->given) : Value();
}

Value invertFrames(B &b) {
  std::optional<Pair> pair = Pair::read(b, 2);
  std::optional<ShortTimeFourier> frames = pair ? readFrames(b) : std::nullopt;
  std::optional<int64_t> samples = frames ? b.getInteger(kKeywordOnly, "length") : std::nullopt;
  if (!frames || b.hasFailed())
    return {};
  const int64_t bins = b.shapeOf(pair->given).back();
  if (frames->length < 1 || frames->length / 2 + 1 != bins)
    return b.error("'ISTFT' of " + llvm::Twine(bins) + " frequencies with 'fft_length' " +
                   llvm::Twine(frames->length));
  Value y = frames->invert(b, pair->parts, samples);
  return y ? b.makeCastLike(y, pair->given) : y;
}

// ---- Real numbers as complex ones ---------------------------------------------------------------

Value zerosLike(B &b, Value x) {
  Value zero = b.makeZero(elementTypeOf(x));
  if (mlir::isa<mlir::FloatType>(elementTypeOf(x)))
    zero = b.makeCastLike(zero, x);
  return b.make<BroadcastLikeOp>(zero, x);
}

Value imaginaryPart(B &b) {
  Value x = b.getValue(0, "x");
  return x ? zerosLike(b, x) : x;
}

/// 0, or pi where a number is negative; NaN counts as positive.
Value angle(B &b) {
  Value x = b.getFloat(0, "x");
  if (!x)
    return {};
  Value zero = b.makeConstant(0.0);
  return b.makeSelect(b.makeCompare(ComparePredicate::LT, x, zero),
                      b.makeCastLike(b.makeConstant(3.14159265358979323846), x),
                      b.makeCastLike(zero, x));
}

/// A new last axis with the numbers and zeros.
Value viewAsReal(B &b) {
  Value x = b.getValue(0, "x");
  if (!x)
    return {};
  llvm::SmallVector<int64_t> shape(b.shapeOf(x));
  shape.push_back(1);
  x = b.makeReshape(x, shape);
  return b.make<ConcatenateOp>(mlir::ValueRange{x, zerosLike(b, x)}, int64_t(shape.size()) - 1);
}

constexpr OperationEntry kComplexOperations[] = {
    {"Angle", angle},
    {"FFT", transform},
    {"FFT2", transformPlane<transformComplex>},
    {"IFFT2", transformPlane<invertComplex>},
    {"IRFFT", invertSignal},
    {"ISTFT", invertFrames},
    {"Imag", imaginaryPart},
    {"RFFT", transformSignal},
    {"STFT", transformFrames},
    {"ViewAsReal", viewAsReal},
};

} // namespace

llvm::ArrayRef<OperationEntry> complexOperations() { return kComplexOperations; }

} // namespace mpc::keras
