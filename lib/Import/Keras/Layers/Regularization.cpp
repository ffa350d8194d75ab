// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/regularization: Dropout, SpatialDropout1D to 3D, AlphaDropout, GaussianDropout,
// GaussianNoise, ActivityRegularization. Inference leaves their input as it is.
#include "lib/Import/Keras/LayerRegistry.h"

#include <cmath>

namespace mpc::keras {
namespace {

using mlir::Value;
using B = LayerBuilder;

/// Whether there is something to change at random. Integers pass as they are: Keras's predictions
/// leave them alone, and it cannot train through them.
bool isRandom(Value x) { return mlir::isa<mlir::FloatType>(elementTypeOf(x)); }

/// The input of a layer that drops elements, and its `rate` in [0, 1).
struct Dropped {
  Value input;
  double rate;
  bool isRandom() const { return rate != 0.0 && keras::isRandom(input); }
};

/// Nothing after an error.
std::optional<Dropped> readDropped(B &b) {
  const double rate = b.getNumber("rate", 0.0);
  if (!(rate >= 0.0 && rate < 1.0)) {
    b.error("'rate' of " + b.layer.className + " is " + std::to_string(rate) +
            "; expected 0 <= rate < 1");
    return std::nullopt;
  }
  Value x = b.getInput();
  return x ? std::optional(Dropped{x, rate}) : std::nullopt;
}

Value makeDropout(B &b, Value x, double rate, mlir::DenseI64ArrayAttr noiseShape) {
  return b.make<DropoutOp>(x.getType(), x, b.getRandomState(), b.builder.getF64FloatAttr(rate),
                           b.builder.getI64IntegerAttr(b.takeRandomStream()), noiseShape);
}

/// The configured `noise_shape`: 1 or the input's own extents. Null when there is none, nothing
/// after an error.
std::optional<mlir::DenseI64ArrayAttr> getNoiseShape(B &b, Value x) {
  llvm::ArrayRef<int64_t> shape = b.shapeOf(x);
  auto configured = b.getIntegers("noise_shape", -1);
  if (!configured)
    return b.hasFailed() ? std::nullopt : std::optional(mlir::DenseI64ArrayAttr());
  if (configured->size() != shape.size()) {
    b.error("'noise_shape' of " + b.layer.className + " has " + llvm::Twine(configured->size()) +
            " extents for an input of " + llvm::Twine(shape.size()) + " dimensions");
    return std::nullopt;
  }
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    int64_t &extent = (*configured)[axis];
    if (axis > 0 && extent == -1)
      extent = shape[axis];
    if (extent != 1 && !(axis == 0 ? extent == -1 : extent == shape[axis])) {
      b.error("'noise_shape' of " + b.layer.className +
              " must hold 1, null or the input's own extent; axis " + llvm::Twine(axis) +
              " holds " + llvm::Twine(extent));
      return std::nullopt;
    }
  }
  return b.builder.getDenseI64ArrayAttr(*configured);
}

Value importDropout(B &b) {
  const std::optional<Dropped> dropped = readDropped(b);
  if (!dropped)
    return {};
  Value x = dropped->input;
  if (!dropped->isRandom())
    return x;
  std::optional<mlir::DenseI64ArrayAttr> noise = getNoiseShape(b, x);
  return noise ? makeDropout(b, x, dropped->rate, *noise) : Value();
}

/// Drops whole feature maps: one decision for all places of a channel of a sample.
template <int places> Value importSpatialDropout(B &b) {
  const std::optional<Dropped> dropped = readDropped(b);
  if (!dropped)
    return {};
  Value x = dropped->input;
  if (b.rankOf(x) != places + 2)
    return b.error(b.layer.className + " takes an input of " + llvm::Twine(places + 2) +
                   " dimensions, not " + llvm::Twine(b.rankOf(x)));
  if (!dropped->isRandom())
    return x;
  // SpatialDropout1D has no data format.
  const bool first = places > 1 && b.getString("data_format", "channels_last") == "channels_first";
  llvm::SmallVector<int64_t> noise(places + 2, 1);
  const int64_t channel = first ? 1 : places + 1;
  noise[0] = -1;
  noise[channel] = b.shapeOf(x)[channel];
  return makeDropout(b, x, dropped->rate, b.builder.getDenseI64ArrayAttr(noise));
}

/// Dropped elements become the value at which SELU saturates; a x + b keeps mean and variance.
Value importAlphaDropout(B &b) {
  const std::optional<Dropped> dropped = readDropped(b);
  if (!dropped)
    return {};
  Value x = dropped->input;
  if (!dropped->isRandom())
    return x;
  std::optional<mlir::DenseI64ArrayAttr> noise = getNoiseShape(b, x);
  if (!noise)
    return {};
  const double alpha = 1.6732632423543772848170429916717 * 1.0507009873554804934193349852946;
  const double a = 1.0 / std::sqrt((1.0 - dropped->rate) * (1.0 + dropped->rate * alpha * alpha));
  const double shift = a * alpha * dropped->rate;
  Value ones = b.make<BroadcastLikeOp>(b.makeCastLike(b.makeConstant(1.0), x), x);
  Value kept = b.makeCompare(ComparePredicate::NE, makeDropout(b, ones, dropped->rate, *noise),
                             b.makeConstant(0.0));
  Value masked = b.makeSelect(kept, x, b.makeConstant(-alpha));
  Value y = b.make<AddOp>(b.make<MultiplyOp>(b.makeConstant(a), masked), b.makeConstant(shift));
  return b.make<InTrainingOp>(y, x);
}

Value makeNormal(B &b, Value x, double mean, double stddev) {
  return b.make<NormalNoiseOp>(x, b.getRandomState(), b.builder.getF64FloatAttr(mean),
                               b.builder.getF64FloatAttr(stddev),
                               b.builder.getI64IntegerAttr(b.takeRandomStream()));
}

Value importGaussianDropout(B &b) {
  const std::optional<Dropped> dropped = readDropped(b);
  if (!dropped)
    return {};
  Value x = dropped->input;
  if (!dropped->isRandom())
    return x;
  Value noise = makeNormal(b, x, 1.0, std::sqrt(dropped->rate / (1.0 - dropped->rate)));
  return b.make<InTrainingOp>(b.make<MultiplyOp>(x, noise), x);
}

Value importGaussianNoise(B &b) {
  Value x = b.getInput();
  const double stddev = b.getNumber("stddev", 0.0);
  if (!x)
    return {};
  if (!(stddev >= 0.0 && stddev <= 1.0))
    return b.error("'stddev' of GaussianNoise is " + std::to_string(stddev) +
                   "; expected 0 <= stddev <= 1");
  if (stddev == 0.0 || !isRandom(x))
    return x;
  return b.make<InTrainingOp>(b.make<AddOp>(x, makeNormal(b, x, 0.0, stddev)), x);
}

/// The importer of calls adds the loss term.
Value importActivityRegularization(B &b) { return b.getInput(); }

constexpr LayerEntry kRegularizationLayers[] = {
    {"ActivityRegularization", importActivityRegularization, Masking::PassesOn},
    {"AlphaDropout", importAlphaDropout, Masking::PassesOn},
    {"Dropout", importDropout, Masking::PassesOn, nullptr, /*onLastAxis=*/true},
    {"GaussianDropout", importGaussianDropout, Masking::PassesOn},
    {"GaussianNoise", importGaussianNoise, Masking::PassesOn},
    {"SpatialDropout1D", importSpatialDropout<1>, Masking::PassesOn},
    {"SpatialDropout2D", importSpatialDropout<2>, Masking::PassesOn},
    {"SpatialDropout3D", importSpatialDropout<3>, Masking::PassesOn},
};

} // namespace

llvm::ArrayRef<LayerEntry> regularizationLayers() { return kRegularizationLayers; }

} // namespace mpc::keras
