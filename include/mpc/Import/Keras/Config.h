// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A Keras architecture: the object tree of config.json or Model.to_json() as C++ structures.
// Nothing here judges whether a layer is supported, and nothing in the file is ever executed or
// imported.
#ifndef MPC_IMPORT_KERAS_CONFIG_H
#define MPC_IMPORT_KERAS_CONFIG_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mpc::keras {

/// One tensor of the graph: output `tensor` of call number `node` of layer `layer`
/// (`keras_history`, or an entry of `input_layers` / `output_layers`).
struct TensorRef {
  std::string layer;
  uint64_t node = 0;
  uint64_t tensor = 0;
  std::string dtype; ///< as Keras recorded it; empty where the file does not say
  /// A constant array in the place of a layer's result: the object `__tensor__` or `__numpy__`.
  std::shared_ptr<const llvm::json::Object> array = nullptr;
};

/// An argument of a call, or the structure of a model's inputs and outputs, nested as the user
/// nested it.
struct Argument {
  enum class Kind { Tensor, List, Dict, Constant };
  Kind kind = Kind::Constant;
  TensorRef tensor;              ///< Kind::Tensor
  std::vector<Argument> items;   ///< Kind::List and Kind::Dict, in file order
  std::vector<std::string> keys; ///< Kind::Dict, one per item
  /// Kind::Constant: a literal, or an object: `__slice__`, and of an operation `__tensor__`, too.
  llvm::json::Value constant = nullptr;

  /// Every tensor in it, depth first: dictionaries by sorted key (as Keras flattens them), lists in
  /// order.
  std::vector<const TensorRef *> tensors() const;
};

/// One call of a layer.
struct Node {
  std::vector<Argument> arguments;
  std::vector<std::pair<std::string, Argument>> keywords;
};

/// The position of an argument that calls pass by its name alone.
inline constexpr unsigned kKeywordOnly = ~0u;

struct ModelConfig;

/// Which Keras a file means: names, defaults and formulas changed with Keras 3.
struct KerasVersion {
  bool isBefore(unsigned otherMajor, unsigned otherMinor) const {
    return major < otherMajor || (major == otherMajor && minor < otherMinor);
  }
  bool isKeras2() const { return major < 3; }

  unsigned major = 3, minor = 0;
  bool ofTensorFlow = true; ///< tf.keras; false: the Keras beside it, up to 2.3
};

struct LayerConfig {
  std::string className, module, registeredName, name;
  llvm::json::Object config;
  std::optional<llvm::json::Value> buildConfig; ///< absent: the layer was never built on its own
  std::vector<Node> calls;                      ///< empty in a Sequential model
  /// Entries of one object of Python's have the same number: the layer of a model, and the same
  /// layer in the config of another one. Absent: the object is in the file once.
  std::optional<int64_t> sharedObject;
  std::unique_ptr<ModelConfig> model; ///< set for Functional and Sequential layers
  bool isPart = false;                ///< not in the file: the layer that holds it makes it
  KerasVersion version;               ///< whose formulas and defaults it means
};

/// Nodes that keras.ops recorded are operations, not layers, and own no group in weight files.
bool isOperation(const LayerConfig &layer);

struct ModelConfig {
  enum class Kind { Functional, Sequential };
  Kind kind = Kind::Functional;
  std::string name;
  std::string ownClass; ///< a class of the user's on top of Keras's; else empty
  bool trainable = true;
  /// In file order. The automatic InputLayer of a Sequential model is here when the file stores it.
  std::vector<LayerConfig> layers;
  Argument inputs, outputs; ///< Functional: structures of TensorRef
  /// Sequential: shape that the model was built with, batch first, -1 for unknown extents.
  std::optional<std::vector<int64_t>> buildShape;
  /// Empty when the model was not compiled.
  llvm::json::Object compileConfig;
};

struct ConfigLimits {
  uint64_t maxBytes = uint64_t(64) << 20;
  unsigned maxDepth = 200;      ///< of JSON brackets
  uint64_t maxValues = 4000000; ///< JSON values, each some 60 bytes in memory
};

/// JSON as Python writes it: `NaN`, `Infinity` and `-Infinity` are accepted. Infinities become
/// numbers; NaN becomes the string "NaN", which no reader of a number accepts.
llvm::Expected<llvm::json::Value> parsePythonJson(llvm::StringRef text, llvm::StringRef fileName,
                                                  const ConfigLimits &limits = {});

/// Parses an architecture. `fileName` is used in messages only.
llvm::Expected<ModelConfig> parseModelConfig(llvm::StringRef text, llvm::StringRef fileName,
                                             const ConfigLimits &limits = {});
llvm::Expected<ModelConfig> parseModelObject(const llvm::json::Value &value,
                                             llvm::StringRef fileName, KerasVersion version = {});

/// Parses the layer entry that another layer's config holds (a wrapped layer, a cell).
llvm::Expected<LayerConfig> parseLayerConfig(const llvm::json::Value &value,
                                             llvm::StringRef fileName, llvm::StringRef path,
                                             KerasVersion version = {});

} // namespace mpc::keras

#endif
