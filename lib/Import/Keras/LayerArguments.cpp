// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/LayerArguments.h"

#include "lib/Import/Keras/Legacy/Arguments.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>

namespace mpc::keras {
namespace {

namespace json = llvm::json;

struct ClassArguments {
  llvm::StringLiteral className, arguments; // with spaces between
};

// Sorted by class. test/Checks/layers.py --write makes it of test/Checks/keras-layers.json.
constexpr ClassArguments kArguments[] = {
#include "lib/Import/Keras/LayerArguments.inc"
};

// Those of every layer (keras/src/layers/layer.py).
bool isOfEveryLayer(llvm::StringRef argument) {
  return llvm::is_contained({"activity_regularizer", "autocast", "batch_input_shape", "batch_shape",
                             "dtype", "input_shape", "name", "trainable"},
                            argument);
}

const ClassArguments *findArguments(llvm::StringRef className) {
  const auto *found = llvm::lower_bound(kArguments, className,
                                        [](const ClassArguments &entry, llvm::StringRef name) {
                                          return llvm::StringRef(entry.className) < name;
                                        });
  return found != std::end(kArguments) && found->className == className ? found : nullptr;
}

bool asksForNothing(const json::Value &value) {
  return value.kind() == json::Value::Null || value.getAsBoolean() == false;
}

class ArgumentCheck {
public:
  ArgumentCheck(KerasVersion version, llvm::function_ref<void(const llvm::Twine &)> report)
      : version(version), report(report) {}

  void checkLayer(llvm::StringRef className, llvm::StringRef module, const json::Object &config) {
    const ClassArguments *known = module == "keras.layers" ? findArguments(className) : nullptr;
    if (known)
      checkNames(*known, config);
    for (const auto &[name, value] : config)
      checkInside(value);
  }

private:
  void checkNames(const ClassArguments &known, const json::Object &config) {
    llvm::SmallVector<llvm::StringRef> names, unknown;
    llvm::StringRef(known.arguments).split(names, ' ');
    for (const auto &[name, value] : config) {
      const llvm::StringRef argument(name);
      if (!isOfEveryLayer(argument) && !llvm::is_contained(names, argument) &&
          !asksForNothing(value) && !isImported(argument))
        unknown.push_back(argument);
    }
    llvm::sort(unknown); // results must not depend on hashing
    for (llvm::StringRef argument : unknown)
      if (version.isKeras2() && isOfKeras2Alone(known.className, argument))
        report("the argument '" + argument + "' of '" + known.className +
               "', which Keras 2 alone has, is supported only at the value that changes nothing; "
               "save the model without it");
      else if (version.isKeras2())
        report("'" + known.className + "' has no argument '" + argument +
               "' in Keras 2.2 to 2.16, nor in Keras 3.0 to 3.15, and nothing here knows what it "
               "does; save the model without it");
      else
        report(
            "'" + known.className + "' has no argument '" + argument +
            "' in Keras 3.0 to 3.15, and nothing here knows what it does; save the model without "
            "it, or with one of these versions");
  }

  /// Importers read two arguments that Keras 2 alone has.
  bool isImported(llvm::StringRef argument) const {
    return version.isKeras2() && (argument == "time_major" || argument == "virtual_batch_size");
  }

  // Serialised layers: cells, wrapped layers.
  void checkInside(const json::Value &value) {
    if (const json::Array *array = value.getAsArray())
      llvm::for_each(*array, [&](const json::Value &item) { checkInside(item); });
    const json::Object *object = value.getAsObject();
    const json::Object *config = object ? object->getObject("config") : nullptr;
    if (!config)
      return;
    checkLayer(object->getString("class_name").value_or(""),
               object->getString("module").value_or(""), *config);
  }

  const KerasVersion version;
  llvm::function_ref<void(const llvm::Twine &)> report;
};

} // namespace

bool isClassOfKeras(llvm::StringRef className) {
  // Those that Keras 3 does not have, or that the table leaves out.
  constexpr llvm::StringLiteral others[] = {"AddLoss",
                                            "AddMetric",
                                            "BatchNormalizationV1",
                                            "BatchNormalizationV2",
                                            "ClassMethod",
                                            "ConvLSTM2DCell",
                                            "ConvRecurrent2D",
                                            "CuDNNGRU",
                                            "CuDNNLSTM",
                                            "DenseFeatures",
                                            "FlaxLayer",
                                            "GroupQueryAttention",
                                            "InstanceMethod",
                                            "InstanceProperty",
                                            "JaxLayer",
                                            "LocallyConnected1D",
                                            "ModuleWrapper",
                                            "LocallyConnected2D",
                                            "RandomFourierFeatures",
                                            "RandomHeight",
                                            "RandomWidth",
                                            "ReversibleEmbedding",
                                            "SyncBatchNormalization",
                                            "TFSMLayer",
                                            "ThresholdedReLU",
                                            "TorchModuleWrapper"};
  return findArguments(className) || llvm::is_contained(others, className);
}

void reportUnknownArguments(const LayerConfig &layer,
                            llvm::function_ref<void(const llvm::Twine &message)> report) {
  ArgumentCheck(layer.version, report).checkLayer(layer.className, layer.module, layer.config);
}

} // namespace mpc::keras
