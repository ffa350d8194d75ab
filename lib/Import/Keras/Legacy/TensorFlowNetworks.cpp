// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// TensorFlow's normalizations, biases and losses of tf.nn.
#include "lib/Import/Keras/Legacy/TensorFlowBuilder.h"

#include <cmath>

namespace mpc::keras {
namespace {

using mlir::Value;
using T = TensorFlowBuilder;

Value biasAdd(T &b) {
  Value x = b.getTensor("value");
  Value bias = x ? b.getTensor("bias", x) : Value();
  if (!bias)
    return {};
  const std::string format = b.getString("data_format", "N...C");
  if (b.rankOf(bias) != 1 || b.rankOf(x) < 2)
    return b.error("takes a vector of biases");
  if (llvm::StringRef(format).starts_with("NC") || format == "channels_first") {
    llvm::SmallVector<int64_t> shape(size_t(b.rankOf(x) - 1), 1);
    shape.front() = b.shapeOf(bias).front();
    bias = b.makeReshape(bias, shape);
  }
  return b.call("Add", {{"x1", x}, {"x2", bias}});
}

/// (x - mean) rsqrt(variance + epsilon) scale + offset, in TensorFlow's order:
/// x inv + (offset - mean inv).
Value batchNormalization(T &b) {
  Value x = b.getFloat("x");
  Value mean = x ? b.getTensor("mean", x) : Value(),
        variance = mean ? b.getTensor("variance", x) : Value();
  if (!variance)
    return {};
  Value scale = b.find("scale") ? b.getTensor("scale", x) : Value(),
        offset = b.find("offset") ? b.getTensor("offset", x) : Value();
  std::optional<double> epsilon = b.findNumber("variance_epsilon");
  if (!epsilon || b.hasFailed())
    return b.error("argument 'variance_epsilon' is missing");
  Value inverse = b.make<RsqrtOp>(b.make<AddOp>(variance, b.makeConstant(*epsilon)));
  auto fits = [&](Value part) {
    return !part || succeeded(broadcastShapes({b.shapeOf(x), b.shapeOf(part)}));
  };
  if (!fits(mean) || !fits(variance) || !fits(scale) || !fits(offset))
    return b.error("has statistics of shapes that do not broadcast");
  if (scale)
    inverse = b.make<MultiplyOp>(inverse, scale);
  Value shift = b.make<MultiplyOp>(mean, inverse);
  shift = offset ? Value(b.make<SubtractOp>(offset, shift)) : Value(b.make<NegateOp>(shift));
  return b.make<AddOp>(b.make<MultiplyOp>(x, inverse), shift);
}

/// tf.compat.v1.nn.fused_batch_norm at inference: with statistics that it is given.
Value fusedBatchNorm(T &b) {
  Value x = b.getFloat("x");
  Value scale = x ? b.getTensor("scale", x) : Value(),
        offset = scale ? b.getTensor("offset", x) : Value();
  if (!offset)
    return {};
  if (b.getFlag("is_training", true))
    return b.error("with the batch's statistics is not supported; use layers.BatchNormalization");
  const std::string format = b.getString("data_format", "NHWC");
  if (format != "NHWC" && format != "NDHWC")
    return b.error("'data_format' '" + format + "' is not supported; use NHWC");
  Value mean = b.getTensor("mean", x), variance = mean ? b.getTensor("variance", x) : Value();
  if (!variance)
    return {};
  Value inverse =
      b.make<RsqrtOp>(b.make<AddOp>(variance, b.makeConstant(b.getNumber("epsilon", 0.001))));
  Value factor = b.make<MultiplyOp>(scale, inverse);
  for (Value part : {mean, factor, offset})
    if (b.shapeOf(part) != b.shapeOf(x).take_back(1))
      return b.error("has statistics of another shape than the channels");
  Value y = b.make<MultiplyOp>(b.make<SubtractOp>(x, mean), factor);
  b.furtherResults.append({mean, variance});
  return b.make<AddOp>(y, offset);
}

/// x / (bias + alpha sum of x^2 over neighbouring channels)^beta
Value localResponse(T &b) {
  Value x = b.getTensor("input");
  if (!x || b.rankOf(x) != 4)
    return x ? b.error("takes a batch of images") : Value();
  const int64_t radius = b.getInteger("depth_radius", 5), channels = b.shapeOf(x).back();
  const double bias = b.getNumber("bias", 1.0), alpha = b.getNumber("alpha", 1.0),
               beta = b.getNumber("beta", 0.5);
  if (radius < 0 || radius > 65536)
    return b.error("'depth_radius' is out of range");
  // Sums of a band of channels are a product with a matrix of ones and zeros.
  if (channels > 4096)
    return b.error("of more than 4096 channels is not supported");
  llvm::SmallVector<double> band;
  for (int64_t row = 0; row < channels; ++row)
    for (int64_t column = 0; column < channels; ++column)
      band.push_back(std::abs(row - column) <= radius ? 1.0 : 0.0);
  Value sums = b.call("Matmul", {{"x1", b.make<MultiplyOp>(x, x)},
                                 {"x2", b.makeConstant({channels, channels}, band)}});
  if (!sums)
    return {};
  Value base = b.make<AddOp>(b.make<MultiplyOp>(sums, b.makeConstant(alpha)), b.makeConstant(bias));
  if (beta == 0.5)
    return b.make<MultiplyOp>(x, b.make<RsqrtOp>(base));
  return b.make<MultiplyOp>(x, b.make<PowerOp>(base, b.makeConstant(-beta)));
}

/// max(z, 0) - z t + log(1 + e^-|z|)
Value sigmoidCrossEntropy(T &b) {
  auto [z, t] = b.getPair("logits", "labels");
  if (!z)
    return {};
  Value tail = b.make<Log1pOp>(b.make<ExpOp>(b.make<NegateOp>(b.make<AbsOp>(z))));
  Value linear = b.make<SubtractOp>(b.make<ReluOp>(z), b.make<MultiplyOp>(z, t));
  return b.make<AddOp>(linear, tail);
}

Value softmaxCrossEntropy(T &b) {
  auto [z, t] = b.getPair("logits", "labels");
  if (!z)
    return {};
  const int64_t rank = b.rankOf(z);
  const int64_t axis = b.getInteger("axis", -1);
  if (b.shapeOf(z) != b.shapeOf(t) || (axis != -1 && axis != rank - 1))
    return b.error("takes logits and labels of one shape, with the classes last");
  return b.make<SoftmaxCrossEntropyOp>(z, t);
}

Value sparseCrossEntropy(T &b) {
  Value labels = b.getTensor("labels"), z = labels ? b.getTensor("logits") : Value();
  if (!z || mlir::isa<mlir::FloatType>(elementTypeOf(labels)))
    return z ? b.error("takes integer labels") : Value();
  if (b.shapeOf(labels) != b.shapeOf(z).drop_back())
    return b.error("takes one label for each row of logits");
  Value t = b.call("OneHot", {{"x", labels}, {"num_classes", b.shapeOf(z).back()}});
  return t ? b.make<SoftmaxCrossEntropyOp>(z, b.makeCastLike(t, z)) : Value();
}

/// Cross-entropies of keras.backend, of probabilities unless told otherwise.
Value backendCrossEntropy(T &b) {
  Value target = b.getTensor("target"), output = target ? b.getFloat("output") : Value();
  if (!output)
    return {};
  if (b.find("ignore_class"))
    return b.error("'ignore_class' is not supported");
  if (b.function.operation == "BinaryCrossentropy")
    return b.call(
        b.function.operation,
        {{"target", target}, {"output", output}, {"from_logits", b.getFlag("from_logits", false)}});
  return b.call(b.function.operation, {{"target", target},
                                       {"output", output},
                                       {"from_logits", b.getFlag("from_logits", false)},
                                       {"axis", b.getInteger("axis", -1)}});
}

constexpr TensorFlowFunction kTensorFlowNetworks[] = {
    {"keras.backend.bias_add", "value|x bias data_format", biasAdd},
    {"keras.backend.binary_crossentropy", "target output from_logits", backendCrossEntropy,
     "BinaryCrossentropy"},
    {"keras.backend.categorical_crossentropy", "target output from_logits axis",
     backendCrossEntropy, "CategoricalCrossentropy"},
    {"keras.backend.sparse_categorical_crossentropy", "target output from_logits axis ignore_class",
     backendCrossEntropy, "SparseCategoricalCrossentropy"},
    {"nn.bias_add", "value bias data_format", biasAdd},
    {"nn.batch_normalization", "x mean variance offset scale variance_epsilon", batchNormalization},
    {"nn.fused_batch_norm",
     "x scale offset mean variance epsilon data_format is_training exponential_avg_factor",
     fusedBatchNorm},
    {"nn.local_response_normalization|nn.lrn", "input depth_radius bias alpha beta", localResponse},
    {"nn.sigmoid_cross_entropy_with_logits", "labels logits", sigmoidCrossEntropy},
    {"nn.softmax_cross_entropy_with_logits|nn.softmax_cross_entropy_with_logits_v2",
     "labels logits axis|dim", softmaxCrossEntropy},
    {"nn.sparse_softmax_cross_entropy_with_logits", "labels logits", sparseCrossEntropy},
};

} // namespace

llvm::ArrayRef<TensorFlowFunction> tensorFlowNetworks() { return kTensorFlowNetworks; }

} // namespace mpc::keras
