// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// TensorFlow's random functions. A training step draws numbers, as Keras's layers do; a prediction
// takes the mean of the distribution, which import warns of: Keras 2 draws there, too.
#include "lib/Import/Keras/Legacy/TensorFlowBuilder.h"

#include "lib/Import/Keras/GraphImporter.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using T = TensorFlowBuilder;

/// A floating tensor of the shape `parameter`, with `number` everywhere; null after an error.
Value filledWith(T &b, llvm::StringRef parameter, double number) {
  const std::string dtype = b.getString("dtype", "float32");
  if (dtype != "float32" && dtype != "float64" && dtype != "float16" && dtype != "bfloat16")
    return b.error("of dtype '" + dtype + "' is not supported");
  std::optional<llvm::SmallVector<int64_t>> shape = b.getShape(parameter);
  if (!shape)
    return {};
  Value filled = b.makeFilled(b.makeConstant(number), *shape, b.findSymbolic(parameter)->sample);
  return filled ? b.cast(filled, dtype == "float64" ? "float32" : dtype) : Value();
}

void warnOfMean(T &b) {
  const llvm::StringRef path = llvm::cast<mlir::NameLoc>(b.location).getName().getValue();
  b.importer.report.warn(
      "'" + path + "' draws random numbers (tf." + b.function.names.split('|').first +
      "), in predictions of Keras 2, too; a compiled model draws them in training, and "
      "predicts with the mean of the distribution");
}

/// `noise` in training, `mean` in inference.
Value inTraining(T &b, Value noise, Value mean) {
  warnOfMean(b);
  return b.make<InTrainingOp>(noise, mean);
}

mlir::IntegerAttr takeStream(T &b) {
  return b.builder.getI64IntegerAttr(b.importer.forward.takeRandomStream());
}

Value drawUniform(T &b, Value like, double low, double high) {
  return b.make<UniformNoiseOp>(like, b.importer.forward.getRandomState(),
                                b.builder.getF64FloatAttr(low), b.builder.getF64FloatAttr(high),
                                takeStream(b));
}

Value normal(T &b) {
  const double mean = b.getNumber("mean", 0.0), deviation = b.getNumber("stddev", 1.0);
  Value like = filledWith(b, "shape", mean);
  if (!like || b.hasFailed())
    return {};
  return inTraining(b,
                    b.make<NormalNoiseOp>(like, b.importer.forward.getRandomState(),
                                          b.builder.getF64FloatAttr(mean),
                                          b.builder.getF64FloatAttr(deviation), takeStream(b)),
                    like);
}

/// Within two deviations of the mean: the normal quantile of a uniform number.
Value truncatedNormal(T &b) {
  const double mean = b.getNumber("mean", 0.0), deviation = b.getNumber("stddev", 1.0);
  Value like = filledWith(b, "shape", mean);
  if (!like || b.hasFailed())
    return {};
  constexpr double kShareInside = 0.9544997361036416; // erf(sqrt(2))
  Value z = b.call("Erfinv", {{"x", drawUniform(b, like, -kShareInside, kShareInside)}});
  if (!z)
    return {};
  z = b.make<MultiplyOp>(z, b.makeConstant(deviation * 1.4142135623730951));
  return inTraining(b, b.make<AddOp>(z, b.makeConstant(mean)), like);
}

Value uniform(T &b) {
  const double low = b.getNumber("minval", 0.0), high = b.getNumber("maxval", 1.0);
  if (!(low <= high))
    return b.error("'minval' is larger than 'maxval'");
  Value like = filledWith(b, "shape", (low + high) / 2.0);
  return !like || b.hasFailed() ? Value() : inTraining(b, drawUniform(b, like, low, high), like);
}

Value bernoulli(T &b) {
  const double probability = b.getNumber("p", 0.0);
  Value like = filledWith(b, "shape", probability);
  if (!like || b.hasFailed())
    return {};
  Value drawn = b.makeCompare(ComparePredicate::LT, drawUniform(b, like, 0.0, 1.0),
                              b.makeConstant(probability));
  return inTraining(b,
                    b.makeSelect(drawn, b.makeCastLike(b.makeConstant(1.0), like),
                                 b.makeCastLike(b.makeConstant(0.0), like)),
                    like);
}

/// Elements become 0 or are scaled up. `rate`, or what is kept in TensorFlow 1.
Value dropout(T &b) {
  Value x = b.getFloat("x");
  double rate = b.getNumber("rate", 0.0);
  if (b.find("keep_prob"))
    rate = 1.0 - b.getNumber("keep_prob", 1.0);
  if (!x || b.hasFailed())
    return {};
  if (!(rate >= 0.0 && rate < 1.0))
    return b.error("'rate' must be in [0, 1)");
  mlir::DenseI64ArrayAttr noise;
  if (b.find("noise_shape")) {
    std::optional<llvm::SmallVector<int64_t>> shape = b.getShape("noise_shape");
    if (!shape)
      return {};
    for (auto [axis, extent] : llvm::enumerate(*shape)) {
      if (mlir::ShapedType::isDynamic(extent))
        extent = -1;
      if (axis >= size_t(b.rankOf(x)) ||
          (extent != 1 && extent != (axis == 0 ? -1 : b.shapeOf(x)[axis])))
        return b.error("'noise_shape' must hold 1 or the input's own extents");
    }
    if (int64_t(shape->size()) != b.rankOf(x))
      return b.error("'noise_shape' must hold one extent for each dimension");
    noise = b.builder.getDenseI64ArrayAttr(*shape);
  }
  if (rate == 0.0)
    return x;
  warnOfMean(b);
  return b.make<DropoutOp>(x.getType(), x, b.importer.forward.getRandomState(),
                           b.builder.getF64FloatAttr(rate), takeStream(b), noise);
}

constexpr TensorFlowFunction kTensorFlowRandom[] = {
    {"random.normal|random_normal|keras.backend.random_normal", "shape mean stddev dtype seed",
     normal},
    {"random.truncated_normal|truncated_normal|keras.backend.truncated_normal",
     "shape mean stddev dtype seed", truncatedNormal},
    {"random.uniform|random_uniform|keras.backend.random_uniform", "shape minval maxval dtype seed",
     uniform},
    {"keras.backend.random_bernoulli", "shape p dtype seed", bernoulli},
    {"nn.dropout", "x rate noise_shape seed keep_prob", dropout},
    {"compat.v1.nn.dropout", "x keep_prob noise_shape seed rate", dropout},
    {"keras.backend.dropout", "x rate|level noise_shape seed keep_prob", dropout},
};

} // namespace

llvm::ArrayRef<TensorFlowFunction> tensorFlowRandom() { return kTensorFlowRandom; }

} // namespace mpc::keras
