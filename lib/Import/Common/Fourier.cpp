// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Common/Fourier.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <numeric>

namespace mpc {
namespace {

using mlir::Value;
using Numbers = llvm::SmallVector<int64_t>;

/// A transform of this length is one product; below it two are not faster.
constexpr int64_t kDirectLength = 64;
/// Elements of a constant matrix: 64 MiB.
constexpr int64_t kMostElements = int64_t(1) << 24;
constexpr int64_t kMostSamples = int64_t(1) << 30;

Value constant(ValueBuilder &b, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<double> values) {
  return b.makeCastTo(b.makeConstant(shape, values), b.builder.getF32Type());
}

/// Cosine and sine of 2 pi `product` / `length`, of the angle within one turn.
std::pair<double, double> onCircle(int64_t product, int64_t length) {
  const double angle = 2 * M_PI * double(product % length) / double(length);
  return {std::cos(angle), std::sin(angle)};
}

/// The largest divisor of `length` up to its square root.
int64_t findFactor(int64_t length) {
  int64_t factor = 1;
  for (int64_t d = 2; d * d <= length; ++d)
    if (length % d == 0)
      factor = d;
  return factor;
}

/// Real input to `bins` real and `bins` imaginary parts, [length, 2 bins].
Value directMatrix(ValueBuilder &b, int64_t length, int64_t bins) {
  llvm::SmallVector<double> matrix(size_t(length * 2 * bins));
  for (int64_t n = 0; n < length; ++n)
    for (int64_t k = 0; k < bins; ++k) {
      auto [cosine, sine] = onCircle(n * k, length);
      matrix[size_t(n * 2 * bins + k)] = cosine;
      matrix[size_t(n * 2 * bins + bins + k)] = -sine;
    }
  return constant(b, {length, 2 * bins}, matrix);
}

/// `length` real and `length` imaginary parts to `bins` of each, [2 length, 2 bins].
Value complexMatrix(ValueBuilder &b, int64_t length, int64_t bins) {
  llvm::SmallVector<double> matrix(size_t(4 * length * bins));
  auto at = [&](int64_t row, int64_t column) -> double & {
    return matrix[size_t(row * 2 * bins + column)];
  };
  for (int64_t n = 0; n < length; ++n)
    for (int64_t k = 0; k < bins; ++k) {
      auto [cosine, sine] = onCircle(n * k, length);
      at(n, k) = cosine;
      at(n, bins + k) = -sine;
      at(length + n, k) = sine;
      at(length + n, bins + k) = cosine;
    }
  return constant(b, {2 * length, 2 * bins}, matrix);
}

Value sliceLast(ValueBuilder &b, Value x, int64_t offset, int64_t size) {
  return b.make<SliceOp>(x, b.rankOf(x) - 1, offset, size);
}

Value contractLast(ValueBuilder &b, Value x, Value matrix) {
  return b.make<ContractOp>(x, matrix, llvm::ArrayRef<int64_t>{b.rankOf(x) - 1},
                            llvm::ArrayRef<int64_t>{0});
}

/// Real and imaginary parts of an axis one behind the other, or the real ones alone, and the matrix
/// that transforms them.
Value joinParts(ValueBuilder &b, const Spectrum &x, int64_t axis) {
  return x.imaginary ? b.make<ConcatenateOp>(mlir::ValueRange{x.real, x.imaginary}, axis) : x.real;
}
Value matrixFor(ValueBuilder &b, const Spectrum &x, int64_t length, int64_t bins) {
  return x.imaginary ? complexMatrix(b, length, bins) : directMatrix(b, length, bins);
}

/// With length = rows * columns, n = columns p + q and k = k1 + rows k2 the transform is one of
/// length `rows` over p, a rotation of each element by q k1, and one of length `columns` over q
/// (Cooley and Tukey): matrices of rows^2 and columns^2 elements instead of their product's.
Spectrum transformInTwo(ValueBuilder &b, const Spectrum &input, int64_t rows, int64_t columns,
                        int64_t bins) {
  const int64_t rank = b.rankOf(input.real), length = rows * columns;
  Numbers outer(b.shapeOf(input.real).drop_back());
  auto shapeWith = [&](std::initializer_list<int64_t> inner) {
    Numbers shape(outer);
    shape.append(inner);
    return shape;
  };
  // [..., p, q] to [..., q, k1], real parts before imaginary ones.
  Spectrum split{b.makeReshape(input.real, shapeWith({rows, columns})), Value()};
  if (input.imaginary)
    split.imaginary = b.makeReshape(input.imaginary, shapeWith({rows, columns}));
  Value x = b.make<ContractOp>(joinParts(b, split, rank - 1), matrixFor(b, split, rows, rows),
                               llvm::ArrayRef<int64_t>{rank - 1}, llvm::ArrayRef<int64_t>{0});
  Value real = sliceLast(b, x, 0, rows), imaginary = sliceLast(b, x, rows, rows);
  llvm::SmallVector<double> cosines, sines;
  for (int64_t q = 0; q < columns; ++q)
    for (int64_t k = 0; k < rows; ++k) {
      auto [cosine, sine] = onCircle(q * k, length);
      cosines.push_back(cosine);
      sines.push_back(sine);
    }
  Value cosine = constant(b, {columns, rows}, cosines), sine = constant(b, {columns, rows}, sines);
  Value turned =
      b.make<AddOp>(b.make<MultiplyOp>(real, cosine), b.make<MultiplyOp>(imaginary, sine));
  Value turnedImaginary =
      b.make<SubtractOp>(b.make<MultiplyOp>(imaginary, cosine), b.make<MultiplyOp>(real, sine));
  // [..., real q and imaginary q, k1] to [..., k1, real k2 and imaginary k2].
  const int64_t kept = llvm::divideCeil(bins, rows);
  x = b.make<ConcatenateOp>(mlir::ValueRange{turned, turnedImaginary}, rank - 1);
  x = b.make<ContractOp>(x, complexMatrix(b, columns, kept), llvm::ArrayRef<int64_t>{rank - 1},
                         llvm::ArrayRef<int64_t>{0});
  x = b.makeReshape(x, shapeWith({rows, 2, kept}));
  Numbers permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank - 1));
  permutation.append({rank, rank + 1, rank - 1});
  x = b.makeReshape(b.make<TransposeOp>(x, permutation), shapeWith({2 * kept * rows}));
  return {sliceLast(b, x, 0, bins), sliceLast(b, x, kept * rows, bins)};
}

/// How many rows a length is split into, 1 for a transform by one product; 0 after an error.
int64_t splitLength(ValueBuilder &b, int64_t length, int64_t bins) {
  const int64_t rows = length <= kDirectLength ? 1 : findFactor(length), columns = length / rows;
  if (columns <= kMostElements / std::max<int64_t>(bins / rows + 1, 1) / 4)
    return rows;
  b.error("a Fourier transform of " + llvm::Twine(length) +
          " elements needs too large a matrix; expected a length with more divisors, such as a "
          "power of two");
  return 0;
}

/// In float32, each element a real number, or a complex one.
Spectrum transformParts(ValueBuilder &b, const Spectrum &x, int64_t bins) {
  const int64_t length = b.shapeOf(x.real).back(), rows = splitLength(b, length, bins);
  if (rows == 0)
    return {};
  if (rows > 1)
    return transformInTwo(b, x, rows, length / rows, bins);
  Value y = contractLast(b, joinParts(b, x, b.rankOf(x.real) - 1), matrixFor(b, x, length, bins));
  return {sliceLast(b, y, 0, bins), sliceLast(b, y, bins, bins)};
}

/// The `length` real numbers whose transform begins with `length` / 2 + 1 real and as many
/// imaginary parts, as a matrix, [2 (length / 2 + 1), length]. What those at 0 and at half the
/// length have of imaginary parts counts nothing: sines of whole turns and half ones.
Value inverseMatrix(ValueBuilder &b, int64_t length) {
  const int64_t bins = length / 2 + 1;
  llvm::SmallVector<double> matrix(size_t(2 * bins * length));
  for (int64_t k = 0; k < bins; ++k) {
    const bool isOwnMirror = k == 0 || 2 * k == length;
    const double weight = (isOwnMirror ? 1.0 : 2.0) / double(length);
    for (int64_t n = 0; n < length; ++n) {
      auto [cosine, sine] = onCircle(n * k, length);
      matrix[size_t(k * length + n)] = weight * cosine;
      matrix[size_t((bins + k) * length + n)] = isOwnMirror ? 0.0 : -weight * sine;
    }
  }
  return constant(b, {2 * bins, length}, matrix);
}

Value scale(ValueBuilder &b, Value x, double factor) {
  return b.make<MultiplyOp>(x, b.makeConstant(factor));
}

} // namespace

Spectrum transformReal(ValueBuilder &b, Value x, int64_t bins) {
  return transformParts(b, {x, Value()}, bins);
}

Spectrum transformComplex(ValueBuilder &b, const Spectrum &x) {
  return transformParts(b, x, b.shapeOf(x.real).back());
}

Spectrum invertComplex(ValueBuilder &b, const Spectrum &x) {
  // Real and imaginary parts in each other's places turn the angles around.
  Spectrum y = transformComplex(b, {x.imaginary, x.real});
  const double share = 1.0 / double(b.shapeOf(x.real).back());
  return y ? Spectrum{scale(b, y.imaginary, share), scale(b, y.real, share)} : y;
}

Value invertReal(ValueBuilder &b, const Spectrum &x, int64_t length) {
  if (length <= kDirectLength)
    return contractLast(b, joinParts(b, x, b.rankOf(x.real) - 1), inverseMatrix(b, length));
  // The other half is the mirror image, conjugate.
  const int64_t axis = b.rankOf(x.real) - 1, mirrored = length - (length / 2 + 1);
  auto mirror = [&](Value part) {
    return b.make<ReverseOp>(sliceLast(b, part, 1, mirrored), axis);
  };
  auto extend = [&](Value part, Value rest) {
    return b.make<ConcatenateOp>(mlir::ValueRange{part, rest}, axis);
  };
  return invertComplex(b, {extend(x.real, mirror(x.real)),
                           extend(x.imaginary, b.make<NegateOp>(mirror(x.imaginary)))})
      .real;
}

Value cutFrames(ValueBuilder &b, Value x, int64_t length, int64_t stride) {
  // In whole blocks that both lengths are multiples of: few indices, contiguous copies.
  const int64_t axis = b.rankOf(x) - 1, extent = b.shapeOf(x)[axis],
                block = std::gcd(length, stride), count = 1 + (extent - length) / stride;
  if (const int64_t used = (count - 1) * stride + length; used != extent)
    x = sliceLast(b, x, 0, used);
  Numbers blocks(b.shapeOf(x)), places;
  blocks.back() /= block;
  blocks.push_back(block);
  for (int64_t frame = 0; frame < count; ++frame)
    for (int64_t place = 0; place < length / block; ++place)
      places.push_back(frame * (stride / block) + place);
  Value frames = b.make<GatherOp>(b.makeReshape(x, blocks),
                                  b.makeIndices({count, length / block}, places), axis, int64_t(0));
  Numbers shape(b.shapeOf(x).drop_back());
  shape.append({count, length});
  return b.makeReshape(frames, shape);
}

std::optional<llvm::SmallVector<double>> makeWindow(llvm::StringRef name, int64_t length) {
  const bool isHann = name == "hann";
  if (!isHann && name != "hamming")
    return std::nullopt;
  if (length == 1)
    return llvm::SmallVector<double>{1.0};
  // tensorflow/python/ops/signal/window_ops.py, _raised_cosine_window: windows of odd lengths are
  // symmetric whether they are to be periodic or not.
  const double mean = isHann ? 0.5 : 0.54, period = double(length % 2 ? length - 1 : length);
  llvm::SmallVector<double> window;
  for (int64_t n = 0; n < length; ++n)
    window.push_back(mean - (1.0 - mean) * std::cos(2 * M_PI * double(n) / period));
  return window;
}

bool ShortTimeFourier::verify(ValueBuilder &b) const {
  if (sequenceLength < 1 || length < sequenceLength || length > kMostSamples)
    b.error("'sequence_length' must be positive and 'fft_length' no shorter");
  else if (sequenceStride < 1 || sequenceStride > kMostSamples)
    b.error("'sequence_stride' must be positive");
  else if (!window.empty() && !makeWindow(window, 1))
    b.error("'window' is '" + window + "'; expected hann, hamming or none");
  else
    return true;
  return false;
}

llvm::SmallVector<double> ShortTimeFourier::weights() const {
  llvm::SmallVector<double> weights = *makeWindow(window, sequenceLength);
  weights.insert(weights.begin(), size_t((length - sequenceLength) / 2), 0.0);
  weights.resize(size_t(length), 0.0);
  return weights;
}

Spectrum ShortTimeFourier::transform(ValueBuilder &b, Value x) const {
  auto fail = [&](const llvm::Twine &message) {
    b.error(message);
    return Spectrum();
  };
  if (!verify(b))
    return {};
  const int64_t axis = b.rankOf(x) - 1, samples = b.shapeOf(x)[axis];
  const int64_t border = center ? length / 2 : 0;
  if (samples < 1 || samples > kMostSamples || samples <= border || samples + 2 * border < length)
    return fail("a signal of " + llvm::Twine(samples) +
                " samples is too short for Fourier transforms of " + llvm::Twine(length));
  const int64_t count = 1 + (samples + 2 * border - length) / sequenceStride;
  if (count > kMostElements / std::max<int64_t>(length / std::gcd(length, sequenceStride), 1))
    return fail("a signal of " + llvm::Twine(samples) + " samples has too many frames");
  if (border) {
    Value before = b.make<ReverseOp>(b.make<SliceOp>(x, axis, int64_t(1), border), axis);
    Value after = b.make<ReverseOp>(b.make<SliceOp>(x, axis, samples - 1 - border, border), axis);
    x = b.make<ConcatenateOp>(mlir::ValueRange{before, x, after}, axis);
  }
  Value frames = cutFrames(b, x, length, sequenceStride);
  if (!window.empty())
    frames = b.make<MultiplyOp>(frames, constant(b, {length}, weights()));
  return transformReal(b, frames, length / 2 + 1);
}

Value ShortTimeFourier::invert(ValueBuilder &b, const Spectrum &x,
                               std::optional<int64_t> samples) const {
  if (!verify(b))
    return {};
  const int64_t rank = b.rankOf(x.real), count = b.shapeOf(x.real)[rank - 2];
  const int64_t start = center ? length / 2 : 0;
  if (count > (kMostSamples - length) / sequenceStride)
    return b.error("the signal is too long");
  const int64_t whole = (count - 1) * sequenceStride + length;
  // Python's slice [start:end].
  const int64_t end = samples ? std::min(start + *samples, whole) : whole - start;
  if ((samples && *samples < 1) || end <= start || (center && start == 0 && !samples))
    return b.error("no sample is left of a signal of " + llvm::Twine(whole));
  Value frames = invertReal(b, x, length);
  if (!frames)
    return {};
  const int64_t overlaps = llvm::divideCeil(length, sequenceStride);
  if (!window.empty()) {
    // tensorflow/python/ops/signal/spectral_ops.py, inverse_stft_window_fn: over the sum of the
    // squares of all windows at a place.
    const llvm::SmallVector<double> forward = weights();
    llvm::SmallVector<double> sums(size_t(std::min(sequenceStride, length))), inverse(forward);
    for (int64_t n = 0; n < length; ++n)
      sums[size_t(n % sequenceStride)] += forward[size_t(n)] * forward[size_t(n)];
    for (int64_t n = 0; n < length; ++n)
      inverse[size_t(n)] /= sums[size_t(n % sequenceStride)];
    frames = b.make<MultiplyOp>(frames, constant(b, {length}, inverse));
  }
  // Overlapping frames are added in their order.
  if (end - start > kMostElements / overlaps)
    return b.error("a signal of " + llvm::Twine(end - start) + " samples has too many frames");
  ResampleTable table;
  table.axis = rank - 2;
  table.taps = overlaps;
  for (int64_t place = start; place < end; ++place)
    for (int64_t overlap = overlaps - 1; overlap >= 0; --overlap) {
      const int64_t frame = place / sequenceStride - overlap, n = place - frame * sequenceStride;
      table.indices.push_back(frame >= 0 && frame < count && n < length ? frame * length + n : -1);
    }
  Numbers shape(b.shapeOf(frames).drop_back());
  shape.back() *= length;
  return b.make<ResampleOp>(b.makeReshape(frames, shape), llvm::ArrayRef(table));
}

} // namespace mpc
