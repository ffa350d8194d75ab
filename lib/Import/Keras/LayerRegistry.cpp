// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "LayerRegistry.h"

namespace mpc::keras {

const LayerEntry *findLayer(const LayerConfig &layer) {
  // Files of Keras 2 name no module.
  const llvm::StringRef module = layer.module, registered = layer.registeredName;
  if (!module.empty() && module != "keras.layers" && !module.starts_with("keras.src.layers."))
    return nullptr;
  if (registered.contains('>'))
    return nullptr;
  for (llvm::ArrayRef<LayerEntry> family :
       {coreLayers(), activationLayers(), mergingLayers(), convolutionLayers(), poolingLayers(),
        reshapingLayers(), resamplingLayers(), regularizationLayers(), preprocessingLayers(),
        einsumDenseLayers(), embeddingLayers(), normalizationLayers(), attentionLayers(),
        multiHeadAttentionLayers(), spectralNormalizationLayers(), recurrentLayers(),
        recurrentWrappers()})
    for (const LayerEntry &entry : family)
      if (entry.className == layer.className)
        return &entry;
  return nullptr;
}

} // namespace mpc::keras
