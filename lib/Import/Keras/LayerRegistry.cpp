// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/LayerRegistry.h"

#include "lib/Import/Keras/Legacy/Layers.h"
#include "lib/Import/Keras/Legacy/NamedFunctions.h"

#include "llvm/ADT/StringMap.h"

namespace mpc::keras {

static llvm::StringMap<LayerEntry> &registeredLayers() {
  static llvm::StringMap<LayerEntry> layers;
  return layers;
}

void registerLayer(llvm::StringRef registeredName, const LayerEntry &entry) {
  registeredLayers().insert_or_assign(registeredName, entry);
}

bool isOfHub(llvm::StringRef registeredName) {
  return registeredName.starts_with("keras_hub>") || registeredName.starts_with("keras_nlp>");
}

static const LayerEntry *findIn(llvm::ArrayRef<LayerEntry> family, llvm::StringRef className) {
  for (const LayerEntry &entry : family)
    if (entry.className == className)
      return &entry;
  return nullptr;
}

static const LayerEntry *findOfHub(llvm::StringRef className) {
  // Keras's own since 3.13, under the old name.
  if (className == "ReversibleEmbedding")
    return findIn(embeddingLayers(), className);
  for (llvm::ArrayRef<LayerEntry> family :
       {hubAttentionLayers(), hubEmbeddingLayers(), hubHeadLayers(), hubRotaryLayers(),
        hubTransformerLayers()})
    if (const LayerEntry *entry = findIn(family, className))
      return entry;
  return nullptr;
}

const LayerEntry *findLayer(const LayerConfig &layer) {
  // Files of Keras 2 name no module.
  const llvm::StringRef module = layer.module, registered = layer.registeredName;
  if (auto found = registeredLayers().find(registered); found != registeredLayers().end())
    return &found->second;
  if (isOfHub(registered))
    return findOfHub(layer.className);
  // Registered classes have no module of Keras's.
  if (module.empty() && !registered.empty())
    return nullptr;
  if (registered.contains('>'))
    return nullptr;
  // Keras exports these classes nowhere: files name the module that defines them.
  if (module.starts_with("keras.src.applications."))
    return findIn(applicationLayers(), layer.className);
  if (!module.empty() && module != "keras.layers" && !module.starts_with("keras.src.layers."))
    return nullptr;
  const llvm::ArrayRef<LayerEntry> families[] = {coreLayers(),
                                                 activationLayers(),
                                                 mergingLayers(),
                                                 convolutionLayers(),
                                                 pipelineLayers(),
                                                 poolingLayers(),
                                                 reshapingLayers(),
                                                 resamplingLayers(),
                                                 regularizationLayers(),
                                                 preprocessingLayers(),
                                                 categoryLayers(),
                                                 augmentationLayers(),
                                                 colorAugmentationLayers(),
                                                 regionAugmentationLayers(),
                                                 imageContrastLayers(),
                                                 einsumDenseLayers(),
                                                 embeddingLayers(),
                                                 normalizationLayers(),
                                                 attentionLayers(),
                                                 multiHeadAttentionLayers(),
                                                 spectralNormalizationLayers(),
                                                 spectrogramLayers(),
                                                 recurrentLayers(),
                                                 recurrentWrappers(),
                                                 namedFunctionLayers()};
  if (layer.version.isKeras2())
    if (const LayerEntry *entry = findIn(layersOfKeras2(), layer.className))
      return entry;
  for (llvm::ArrayRef<LayerEntry> family : families)
    if (const LayerEntry *entry = findIn(family, layer.className))
      return entry;
  return nullptr;
}

} // namespace mpc::keras
