// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/Layers/Warping.h"

#include <numeric>

namespace mpc::keras {
namespace {

using mlir::Value;

/// Arithmetic on float32 coordinates; constants are float32, too.
struct Coordinates {
  ValueBuilder &b;

  Value constant(double value) { return b.makeConstant(value); }
  Value add(Value x, Value y) { return b.make<AddOp>(x, y); }
  Value subtract(Value x, Value y) { return b.make<SubtractOp>(x, y); }
  Value multiply(Value x, Value y) { return b.make<MultiplyOp>(x, y); }
  Value quotient(Value x, double divisor) {
    return b.make<FloorOp>(b.make<DivideOp>(x, constant(divisor)));
  }
  Value select(ComparePredicate predicate, Value x, double limit, Value onTrue, Value onFalse) {
    return b.makeSelect(b.makeCompare(predicate, x, constant(limit)), onTrue, onFalse);
  }
  Value clamp(Value x, int64_t extent) {
    return b.make<MinimumOp>(b.make<MaximumOp>(x, constant(0)), constant(double(extent - 1)));
  }

  /// p x + q y + r over all places, in this order.
  Value lineOf(Value p, Value x, Value q, Value y, Value r) {
    Value sum;
    auto addTerm = [&](Value term) { sum = sum ? add(sum, term) : term; };
    if (p)
      addTerm(multiply(p, x));
    if (q)
      addTerm(multiply(q, y));
    if (r)
      addTerm(r);
    return sum ? sum : constant(0);
  }

  /// The place in the image that a coordinate outside of it stands for (MapCoordinate).
  Value map(Value place, int64_t extent, llvm::StringRef mode) {
    const double size = double(extent);
    if (mode == "constant")
      return place;
    if (mode == "nearest" || extent == 1)
      return clamp(place, extent);
    Value below, above, negative = b.make<NegateOp>(place);
    if (mode == "reflect") { // dcba|abcd|dcba
      below = add(multiply(constant(2 * size), quotient(negative, 2 * size)), place);
      below = select(ComparePredicate::LT, below, -size, add(below, constant(2 * size)),
                     subtract(b.make<NegateOp>(below), constant(1)));
      above = subtract(place, multiply(constant(2 * size), quotient(place, 2 * size)));
      above = select(ComparePredicate::GE, above, size,
                     subtract(subtract(constant(2 * size), above), constant(1)), above);
    } else { // wrap, with TensorFlow's period of extent - 1 for how often
      below = add(place, multiply(constant(size), add(quotient(negative, size - 1), constant(1))));
      above = select(ComparePredicate::GT, place, size - 1,
                     subtract(place, multiply(constant(size), quotient(place, size - 1))), place);
    }
    return clamp(select(ComparePredicate::LT, place, 0, below, above), extent);
  }

  /// To the nearest integer, halves away from zero as std::round does.
  Value round(Value x) {
    Value size = b.make<AbsOp>(x), floor = b.make<FloorOp>(size);
    Value rounded =
        select(ComparePredicate::GE, subtract(size, floor), 0.5, add(floor, constant(1)), floor);
    return multiply(b.make<SignOp>(x), rounded);
  }

  Value isInside(Value place, int64_t extent) {
    return b.make<LogicalAndOp>(
        b.makeCompare(ComparePredicate::GE, place, constant(0)),
        b.makeCompare(ComparePredicate::LE, place, constant(double(extent - 1))));
  }
};

/// Reads images [batch, height, width, channels] at rows and columns.
struct Reader {
  ValueBuilder &b;
  Value images;
  double fill;

  Value at(Value row, Value column) {
    llvm::ArrayRef<int64_t> shape = b.shapeOf(images);
    const int64_t batch = shape[0], height = shape[1], width = shape[2], channels = shape[3];
    Coordinates c{b};
    auto toInteger = [&](Value place, int64_t extent) {
      Value inside = c.clamp(place, extent);
      return b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(inside), b.builder.getI32Type()),
                            inside);
    };
    Value index =
        b.make<AddOp>(b.make<MultiplyOp>(toInteger(row, height),
                                         b.makeScalar(b.builder.getI32Type(), double(width))),
                      toInteger(column, width));
    llvm::ArrayRef<int64_t> places = b.shapeOf(index);
    Value pixels = b.makeReshape(images, {batch, height * width, channels});
    if (places.size() == 3 && places[0] == batch) {
      pixels = b.make<GatherOp>(pixels, b.makeReshape(index, {batch, height * width}), /*axis=*/1,
                                /*batch_dims=*/1);
    } else {
      // The same places of all samples.
      const llvm::SmallVector<int64_t> zeros(size_t(height * width), 0);
      index = b.make<AddOp>(index, b.makeIndices({height, width}, zeros));
      pixels = b.make<GatherOp>(pixels, b.makeReshape(index, {height * width}), /*axis=*/1,
                                /*batch_dims=*/0);
    }
    pixels = b.makeReshape(pixels, {batch, height, width, channels});
    Value isInside = b.make<LogicalAndOp>(c.isInside(row, height), c.isInside(column, width));
    Value wide = b.makeCastTo(pixels, b.builder.getF32Type());
    return b.makeSelect(withChannel(isInside), wide, c.constant(fill));
  }

  Value withChannel(Value places) {
    llvm::SmallVector<int64_t> shape(b.shapeOf(places));
    shape.push_back(1);
    return b.makeReshape(places, shape);
  }
};

} // namespace

std::optional<WarpSampling> getWarpSampling(LayerBuilder &b) {
  WarpSampling sampling;
  const std::string interpolation = b.getString("interpolation", "bilinear");
  sampling.nearest = interpolation == "nearest";
  sampling.fillMode = b.getString("fill_mode", "reflect");
  sampling.fill = b.getNumber("fill_value", 0.0);
  if (b.hasFailed())
    return std::nullopt;
  if (!sampling.nearest && interpolation != "bilinear") {
    b.error("'interpolation' of " + b.layer.className + " is '" + interpolation +
            "'; expected nearest or bilinear");
    return std::nullopt;
  }
  if (!llvm::is_contained({"reflect", "wrap", "constant", "nearest"}, sampling.fillMode)) {
    b.error("'fill_mode' of " + b.layer.className + " is '" + sampling.fillMode +
            "'; expected reflect, wrap, constant or nearest");
    return std::nullopt;
  }
  return sampling;
}

Value warpImages(ValueBuilder &b, Value images, const ProjectiveMatrix &matrix,
                 const WarpSampling &sampling) {
  const int64_t height = b.shapeOf(images)[1], width = b.shapeOf(images)[2];
  Coordinates c{b};
  auto count = [&](llvm::ArrayRef<int64_t> shape) {
    llvm::SmallVector<double> places(size_t(shape[0] * shape[1]));
    std::iota(places.begin(), places.end(), 0.0);
    return b.makeCastTo(b.makeConstant(shape, places), b.builder.getF32Type());
  };
  Value columns = count({1, width}), rows = count({height, 1});
  Value x = c.lineOf(matrix.a0, columns, matrix.a1, rows, matrix.a2);
  Value y = c.lineOf(matrix.b0, columns, matrix.b1, rows, matrix.b2);
  Value vanishes;
  if (matrix.c0 || matrix.c1) {
    Value depth = c.lineOf(matrix.c0, columns, matrix.c1, rows, c.constant(1));
    vanishes = b.makeCompare(ComparePredicate::EQ, depth, c.constant(0));
    depth = b.makeSelect(vanishes, c.constant(1), depth);
    x = b.make<DivideOp>(x, depth);
    y = b.make<DivideOp>(y, depth);
  }
  x = c.map(x, width, sampling.fillMode);
  y = c.map(y, height, sampling.fillMode);
  Reader read{b, images, sampling.fill};
  auto finish = [&](Value pixels) {
    // At infinity is the fill, whatever the mode.
    if (vanishes)
      pixels = b.makeSelect(read.withChannel(vanishes), c.constant(sampling.fill), pixels);
    return b.makeCastLike(pixels, images);
  };
  if (sampling.nearest)
    return finish(read.at(c.round(y), c.round(x)));
  Value left = b.make<FloorOp>(x), right = c.add(left, c.constant(1));
  Value top = b.make<FloorOp>(y), bottom = c.add(top, c.constant(1));
  Value toRight = read.withChannel(c.subtract(x, left)),
        toLeft = read.withChannel(c.subtract(right, x));
  auto rowAt = [&](Value row) {
    return c.add(c.multiply(toLeft, read.at(row, left)), c.multiply(toRight, read.at(row, right)));
  };
  Value mixed = c.add(c.multiply(read.withChannel(c.subtract(bottom, y)), rowAt(top)),
                      c.multiply(read.withChannel(c.subtract(y, top)), rowAt(bottom)));
  return finish(mixed);
}

} // namespace mpc::keras
