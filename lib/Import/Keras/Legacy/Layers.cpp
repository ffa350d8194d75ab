// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/Legacy/Layers.h"

#include "lib/Import/Keras/Layers/Spatial.h"

namespace mpc::keras {
namespace {

using mlir::Value;

/// x where it is above theta, else 0 (tf_keras/src/layers/activation/thresholded_relu.py).
Value importThresholdedRelu(LayerBuilder &b) {
  Value x = b.getFloatInput();
  const double theta = b.getNumber("theta", 1.0);
  if (theta < 0)
    b.error("'theta' of ThresholdedReLU must not be negative");
  if (b.hasFailed())
    return {};
  Value above = b.makeCompare(ComparePredicate::GT, x, b.makeConstant(theta));
  return b.make<MultiplyOp>(x, b.makeSelect(above, b.makeConstant(1.0), b.makeConstant(0.0)));
}

/// The layer resizes images in training alone, and a compiled model has one size: it only predicts.
Value importResizedAtRandom(LayerBuilder &b) {
  b.precision().autocast = PrecisionWishes::Autocast::CastsIntegers;
  b.setInferenceOnly();
  return getImages(b, 2, Integers::Cast);
}

/// On one device the same as BatchNormalization, under another name.
Value importSynchronized(LayerBuilder &b) {
  for (const LayerEntry &entry : normalizationLayers())
    if (entry.className == "BatchNormalization")
      return entry.import(b);
  return {};
}

constexpr LayerEntry kLayersOfKeras2[] = {
    {"AddLoss", nullptr, Masking::Stops, importAddedLoss},
    {"AddMetric", nullptr, Masking::Stops, importAddedMetric},
    {"CuDNNGRU", importCudnnRecurrence},
    {"CuDNNLSTM", importCudnnRecurrence},
    {"LocallyConnected1D", importLocallyConnected1D},
    {"LocallyConnected2D", importLocallyConnected2D},
    {"RandomHeight", importResizedAtRandom},
    {"RandomWidth", importResizedAtRandom},
    {"SyncBatchNormalization", importSynchronized, Masking::PassesOn},
    {"ThresholdedReLU", importThresholdedRelu, Masking::PassesOn, nullptr, /*onLastAxis=*/true},
};

} // namespace

llvm::ArrayRef<LayerEntry> layersOfKeras2() { return kLayersOfKeras2; }

} // namespace mpc::keras
