// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras_hub/src/layers/modeling: MaskedLMHead and RMSNormalization.
#include "lib/Import/Keras/ActivationFunctions.h"
#include "lib/Import/Keras/LayerRegistry.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using C = CompositeBuilder;

/// A part with the head's initializers.
Value project(C &c, Value x, int64_t units) {
  C::Part part{"intermediate_dense", "Dense", "_intermediate_dense", {}, /*built=*/true, 2};
  part.config["units"] = units;
  for (llvm::StringRef key : {"kernel_initializer", "bias_initializer"})
    if (const llvm::json::Value *value = c.own.layer.config.get(key))
      part.config[key] = *value;
  if (const llvm::json::Value *activation = c.own.layer.config.get("intermediate_activation"))
    part.config["activation"] = *activation;
  else
    part.config["activation"] = "relu";
  return c.callPart(std::move(part), x);
}

Value normalize(C &c, Value x) {
  C::Part part{
      "intermediate_layer_norm", "LayerNormalization", "_intermediate_layer_norm", {}, true, 3};
  part.config["axis"] = -1;
  part.config["epsilon"] = c.own.getNumber("layer_norm_epsilon", 1e-5);
  return c.callPart(std::move(part), x);
}

/// Scores of the vocabulary at the masked places, by an embedding turned around or by a kernel of
/// the head's own.
bool importMaskedLMHead(C &c, llvm::SmallVectorImpl<Value> &outputs) {
  Value x = c.getTensor(0, "inputs"), places = c.getTensor(1, "mask_positions");
  if (!x || c.rankOf(x) != 3 || !mlir::isa<mlir::FloatType>(elementTypeOf(x)) || !places ||
      c.rankOf(places) != 2 || !mlir::isa<mlir::IntegerType>(elementTypeOf(places))) {
    c.error("MaskedLMHead takes a floating tensor [batch, places, features] and integer positions "
            "[batch, predictions]");
    return false;
  }
  const llvm::json::Value *held = c.own.layer.config.get("token_embedding");
  const bool isTied = held && held->kind() != llvm::json::Value::Null;
  int64_t rows = c.own.getInteger("vocabulary_size", 0), width = c.shapeOf(x).back();
  if (isTied) {
    const LayerConfig *embedding = c.own.getChild("token_embedding");
    if (!embedding)
      return false;
    // The layer itself judges what these are.
    rows = embedding->config.getInteger("input_dim").value_or(rows);
    width = embedding->config.getInteger("output_dim").value_or(width);
  }
  if (rows <= 0)
    c.error("'vocabulary_size' of MaskedLMHead must be a positive integer");
  if (c.hasFailed())
    return false;
  if (c.shapeOf(x).front() != c.shapeOf(places).front()) {
    c.error(
        "'mask_positions' of MaskedLMHead are not of the batch of its inputs; give the model an "
        "Input for them");
    return false;
  }
  x = c.make<GatherOp>(x, places, /*axis=*/int64_t(1), /*batch_dims=*/int64_t(1));
  x = project(c, x, width);
  x = x ? normalize(c, x) : x;
  if (x && isTied)
    x = c.callHeld("token_embedding", {{"", x}, {"reverse", Value(), true}}, /*position=*/1);
  if (!x)
    return false;
  Value scores = c.computeUnderPolicy(x, [&](LayerBuilder &b) -> Value {
    Value y = b.getInputs().front();
    if (!isTied) {
      VariableRequest request{"output_kernel", {width, rows}, "kernel_initializer", "", ""};
      request.defaultInitializer = "glorot_uniform";
      Value kernel = b.addVariable(request);
      if (!kernel)
        return {};
      y = b.make<ContractOp>(y, kernel, llvm::ArrayRef<int64_t>{2}, llvm::ArrayRef<int64_t>{0});
    } else if (b.shapeOf(y).back() != rows) {
      return b.error("'token_embedding' of MaskedLMHead has another number of rows than its config "
                     "says");
    }
    Value bias = b.addVariable({"output_bias", {rows}, "bias_initializer", "", ""});
    return bias ? applyConfiguredActivation(b, "activation", b.make<AddOp>(y, bias)) : Value();
  });
  if (!scores)
    return false;
  outputs.push_back(scores);
  return true;
}

/// x / sqrt(mean x^2 + 1e-6) in float32 whatever the policy, times a scale.
Value importHubRmsNormalization(LayerBuilder &b) {
  Value x = b.getFloatInput();
  const int64_t width = b.getInteger("input_dim", 0);
  if (!x)
    return {};
  if (width <= 0 || (width != 1 && width != b.shapeOf(x).back()))
    return b.error("'input_dim' of RMSNormalization is " + llvm::Twine(width) +
                   " for a last axis of " + llvm::Twine(b.shapeOf(x).back()));
  VariableRequest request{"scale", {width}, "", "", ""};
  request.defaultInitializer = "ones";
  Value scale = b.addVariable(request);
  if (!scale)
    return {};
  Value wide = b.makeCastTo(x, b.builder.getF32Type());
  Value mean = b.makeReduce(ReduceKind::Mean, b.make<MultiplyOp>(wide, wide), {b.rankOf(x) - 1},
                            /*keepDims=*/true);
  Value inverse = b.make<RsqrtOp>(b.make<AddOp>(mean, b.makeConstant(1e-6)));
  return b.make<MultiplyOp>(b.make<MultiplyOp>(wide, inverse), scale);
}

constexpr LayerEntry kHubHeadLayers[] = {
    compositeLayer("MaskedLMHead", importMaskedLMHead),
    {"RMSNormalization", importHubRmsNormalization},
};

} // namespace

llvm::ArrayRef<LayerEntry> hubHeadLayers() { return kHubHeadLayers; }

} // namespace mpc::keras
