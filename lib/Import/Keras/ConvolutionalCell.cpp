// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/rnn/conv_lstm.py: an LSTM whose products are convolutions. Computes channels
// last; where Keras convolves gate by gate, one convolution gives all gates unless dropout gives
// each an input of its own.
#include "lib/Import/Keras/GatedCell.h"
#include "lib/Import/Keras/Layers/ConvolutionSettings.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using Values = llvm::SmallVector<Value>;

class ConvolutionalCell : public GatedCell {
public:
  ConvolutionalCell(std::unique_ptr<LayerBuilder> b, int64_t spatial)
      : GatedCell(std::move(b), 4, "filters"), spatial(spatial) {
    split = inputDropout > 0 || recurrentDropout > 0;
    settings = ConvolutionSettings::read(*builder, spatial, /*stridesAndDilations=*/false);
  }

  bool isChannelsFirst() const override {
    return settings && settings->format == DataFormat::ChannelsFirst;
  }
  llvm::SmallVector<llvm::SmallVector<int64_t>> getStateShapes() const override {
    return {result, result};
  }

  bool build(llvm::ArrayRef<int64_t> input) override {
    if (!settings || builder->hasFailed())
      return false;
    if (int64_t(input.size()) != spatial + 1 ||
        llvm::any_of(input, [](int64_t extent) { return extent < 1 || extent > kMostSpatial; })) {
      builder->error(builder->layer.className + " takes inputs of " + llvm::Twine(spatial + 3) +
                     " dimensions that are not empty");
      return false;
    }
    llvm::ArrayRef<int64_t> extents = input.drop_back();
    if (!settings->setPadding(*builder, extents, /*allowsCausal=*/false))
      return false;
    result = settings->getResultExtents(extents);
    // The recurrent convolution keeps the extents, and has neither strides nor dilations.
    ones.assign(spatial, 1);
    for (int64_t d = 0; d < spatial; ++d) {
      auto [before, after] = samePadding(result[d], settings->kernel[d], 1);
      low.push_back(before);
      high.push_back(after);
    }
    result.push_back(units);
    llvm::SmallVector<int64_t> kernelShape(settings->kernel), recurrentShape(settings->kernel);
    kernelShape.append({input.back(), gates * units});
    recurrentShape.append({units, gates * units});
    return addWeights(kernelShape, recurrentShape);
  }

  /// Convolutions stay in the step: one for all steps would keep four times the states for each.
  Values project(Value input) override {
    Values inputs;
    for (int64_t g = 0; g < (split ? gates : 1); ++g)
      inputs.push_back(dropInput(input, g, /*overSteps=*/true));
    return inputs;
  }

  Value step(llvm::ArrayRef<Value> projected, llvm::MutableArrayRef<Value> states) override {
    Value h = states[0];
    Values z;
    if (split) {
      for (int64_t g = 0; g < gates; ++g)
        z.push_back(make<AddOp>(
            convolveInput(projected[g], gate(kernel, g), bias ? gate(bias, g) : Value()),
            convolveState(dropState(h, g), gate(recurrent, g))));
    } else {
      Value sum =
          make<AddOp>(convolveInput(projected[0], kernel, bias), convolveState(h, recurrent));
      for (int64_t g = 0; g < gates; ++g)
        z.push_back(gate(sum, g));
    }
    return updateMemory(z, states);
  }

protected:
  InitializerAttr getBiasInitializer() const override { return makeForgetInitializer(); }

private:
  Value convolveInput(Value x, Value w, Value addend) {
    Value y = make<ConvolutionOp>(x, w, settings->window(1));
    return addend ? make<AddOp>(y, addend) : y;
  }
  Value convolveState(Value h, Value w) {
    return make<ConvolutionOp>(h, w, ConvolutionWindow{ones, low, high, ones});
  }

  const int64_t spatial;
  std::optional<ConvolutionSettings> settings;
  llvm::SmallVector<int64_t> result;          ///< extents of the states behind the batch
  llvm::SmallVector<int64_t> ones, low, high; ///< of the recurrent convolution
};

} // namespace

std::unique_ptr<RecurrentCell> makeConvolutionalCell(int64_t spatial,
                                                     std::unique_ptr<LayerBuilder> builder) {
  return std::make_unique<ConvolutionalCell>(std::move(builder), spatial);
}

} // namespace mpc::keras
