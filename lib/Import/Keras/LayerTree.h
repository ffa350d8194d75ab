// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The layers of a model and the layers inside them: which holds which, their places in the order of
// variables, and their groups in the weight file.
#ifndef MPC_LIB_IMPORT_KERAS_LAYERTREE_H
#define MPC_LIB_IMPORT_KERAS_LAYERTREE_H

#include "lib/Import/Keras/ImportReport.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>
#include <memory>
#include <optional>

namespace mpc::keras {

/// The path of `name` inside `container`, which is empty for the model.
inline std::string join(llvm::StringRef container, llvm::StringRef name) {
  return container.empty() ? name.str() : (container + "/" + name).str();
}

/// Whether Keras counts the layer's variables as trainable, and BatchNormalization uses the batch's
/// statistics: parts that a layer makes follow it (`holder`), others say it themselves.
bool isTrainable(const LayerConfig &layer, bool holder);

/// A layer of the model, and its path.
struct PlacedLayer {
  const LayerConfig *layer;
  std::string path;
};

class LayerTree {
public:
  /// In the order of variables: the number of a layer of the model, then of one that it made, and
  /// so on.
  using Place = llvm::SmallVector<unsigned, 3>;

  /// `vocabularies`: Archive::vocabularies.
  LayerTree(const ModelConfig &model, ImportReport &report,
            const std::map<std::string, std::string> &vocabularies)
      : report(report), vocabularies(vocabularies) {
    index(model, "", "");
  }

  /// Depth first, as Model.variables.
  Place getPlace(const LayerConfig &layer) const { return order.lookup(&layer); }
  /// Group of each layer in the weight file, for counting its variables.
  const llvm::MapVector<const LayerConfig *, std::string> &getGroups() const { return groups; }
  /// Null where the file has none for the layer.
  const std::string *findGroup(const LayerConfig &layer) const;
  /// The vocabulary that the layer wrote beside the weights; null where it wrote none.
  const std::string *findVocabulary(const LayerConfig &layer) const;
  /// A layer, then the layer that holds it in its config (a wrapper, an attention), and so on.
  llvm::SmallVector<const LayerConfig *, 4> getContainers(const LayerConfig *layer) const;
  /// The layer of the model that is the same object as `child`, an entry in another layer's config;
  /// null where `child` is a layer of its own.
  const PlacedLayer *findShared(const LayerConfig &child) const;

  /// The layer in `config[key]` (element `index` of a list) of a layer; parsed once and then given
  /// to `adjust`. Null after an error.
  const LayerConfig *getChild(const LayerConfig &layer, llvm::StringRef path, llvm::StringRef key,
                              std::optional<unsigned> index = std::nullopt,
                              llvm::function_ref<void(LayerConfig &)> adjust = {});
  /// The part `name` of a layer that its config does not hold, made on the first call.
  const LayerConfig &getPart(const LayerConfig &parent, llvm::StringRef name,
                             llvm::function_ref<LayerConfig()> make);
  /// Gives a layer inside another one its place in the order of variables and in the weight file:
  /// `group` below that of `parent`. `position`: its number among the layers that `parent` makes,
  /// whose variables follow the parent's own; 0: they stand among these, as they are made.
  void placeChild(const LayerConfig &parent, const LayerConfig &child, llvm::StringRef group,
                  unsigned position = 0);
  /// Lets another config stand for the same layer: its weights are those of `layer`.
  void placeTwin(const LayerConfig &layer, const LayerConfig &twin);

private:
  void index(const ModelConfig &model, llvm::StringRef path, llvm::StringRef group);
  /// Gives all layers of a model inside a layer that layer's place in the order of variables.
  void placeLayers(const ModelConfig &model, const LayerConfig &holder, const Place &position);

  ImportReport &report;
  const std::map<std::string, std::string> &vocabularies;
  llvm::DenseMap<const LayerConfig *, Place> order;
  std::map<int64_t, PlacedLayer> sharedLayers; ///< by LayerConfig::sharedObject
  llvm::DenseMap<const LayerConfig *, const LayerConfig *> parents; ///< of layers inside layers
  llvm::MapVector<const LayerConfig *, std::string> groups;
  std::map<std::pair<const LayerConfig *, std::string>, std::unique_ptr<LayerConfig>> children;
};

} // namespace mpc::keras

#endif
