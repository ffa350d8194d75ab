// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/preprocessing/image_preprocessing: layers that change images at random in
// training and hand them on at inference.
#include "../LayerRegistry.h"

namespace mpc::keras {
namespace {

using mlir::Value;

Value importAugmentation(LayerBuilder &b) {
  b.setCastsIntegers();
  b.setInferenceOnly();
  return b.getFloatInput(/*castIntegers=*/true);
}

constexpr LayerEntry augmentation(llvm::StringLiteral className) {
  return {className, importAugmentation};
}

constexpr LayerEntry kAugmentationLayers[] = {
    augmentation("AugMix"),
    augmentation("CutMix"),
    augmentation("MixUp"),
    augmentation("RandAugment"),
    augmentation("RandomBrightness"),
    augmentation("RandomColorDegeneration"),
    augmentation("RandomColorJitter"),
    augmentation("RandomContrast"),
    augmentation("RandomElasticTransform"),
    augmentation("RandomErasing"),
    augmentation("RandomFlip"),
    augmentation("RandomGaussianBlur"),
    augmentation("RandomGrayscale"),
    augmentation("RandomHue"),
    augmentation("RandomInvert"),
    augmentation("RandomPerspective"),
    augmentation("RandomPosterization"),
    augmentation("RandomRotation"),
    augmentation("RandomSaturation"),
    augmentation("RandomSharpness"),
    augmentation("RandomShear"),
    augmentation("RandomTranslation"),
    augmentation("RandomZoom"),
    augmentation("Solarization"),
};

} // namespace

llvm::ArrayRef<LayerEntry> augmentationLayers() { return kAugmentationLayers; }

} // namespace mpc::keras
