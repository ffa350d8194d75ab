// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layers of keras/src/applications, which Keras's own models have beside those of keras.layers:
// LayerScale and StochasticDepth (convnext.py), CustomScaleLayer (inception_resnet_v2.py).
#include "lib/Import/Keras/LayerRegistry.h"

namespace mpc::keras {
namespace {

using mlir::Value;

/// x * gamma, one factor per channel.
Value importLayerScale(LayerBuilder &b) {
  Value x = b.getFloatInput();
  const int64_t channels = b.getInteger("projection_dim", -1);
  const double initial = b.getNumber("init_values", 0.0);
  if (!x || b.hasFailed())
    return {};
  if (channels < 1 || (channels != 1 && channels != b.shapeOf(x).back()))
    return b.error("'projection_dim' of LayerScale is " + llvm::Twine(channels) +
                   " for a last axis of " + llvm::Twine(b.shapeOf(x).back()));
  VariableRequest gamma{"gamma", {channels}, "", "", ""};
  mlir::Builder &builder = b.builder;
  gamma.initializer =
      InitializerAttr::get(builder.getContext(), InitializerKind::Constant,
                           builder.getF64FloatAttr(initial), builder.getF64FloatAttr(0.0));
  gamma.unnamed = true;
  Value factor = b.addVariable(gamma);
  return factor ? b.make<MultiplyOp>(x, factor) : Value();
}

/// x + residual * scale.
Value importCustomScale(LayerBuilder &b) {
  llvm::ArrayRef<Value> inputs = b.getInputs();
  const double scale = b.getNumber("scale", 1.0);
  if (inputs.size() != 2)
    return b.error("CustomScaleLayer takes exactly 2 inputs, not " + llvm::Twine(inputs.size()));
  if (b.hasFailed())
    return {};
  if (inputs[0].getType() != inputs[1].getType() ||
      !mlir::isa<mlir::FloatType>(elementTypeOf(inputs[0])))
    return b.error("CustomScaleLayer takes two floating inputs of one shape");
  return b.make<AddOp>(inputs[0], b.make<MultiplyOp>(inputs[1], b.makeConstant(scale)));
}

/// Drops whole samples of a residual path: floor(keep + uniform) is 1 with the probability keep.
Value importStochasticDepth(LayerBuilder &b) {
  Value x = b.getFloatInput();
  const double rate = b.getNumber("drop_path_rate", 0.0);
  if (!x || b.hasFailed())
    return {};
  if (!(rate >= 0.0 && rate < 1.0))
    return b.error("'drop_path_rate' of StochasticDepth is " + std::to_string(rate) +
                   "; expected 0 <= drop_path_rate < 1");
  if (rate == 0.0)
    return x;
  llvm::SmallVector<int64_t> noise(b.rankOf(x), 1);
  noise[0] = -1;
  return b.make<DropoutOp>(x.getType(), x, b.getRandomState(), b.builder.getF64FloatAttr(rate),
                           b.builder.getI64IntegerAttr(b.takeRandomStream()),
                           b.builder.getDenseI64ArrayAttr(noise));
}

constexpr LayerEntry kApplicationLayers[] = {
    {"CustomScaleLayer", importCustomScale},
    {"LayerScale", importLayerScale},
    {"StochasticDepth", importStochasticDepth},
};

} // namespace

llvm::ArrayRef<LayerEntry> applicationLayers() { return kApplicationLayers; }

} // namespace mpc::keras
