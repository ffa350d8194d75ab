// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keras's files from values: the weights of a .keras archive and legacy whole models.
#ifndef MPC_EXPORT_KERAS_KERASFILE_H
#define MPC_EXPORT_KERAS_KERASFILE_H

#include "mpc/Import/Keras/Weights.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mpc::keras {

/// Where a model's values stand in Keras's files.
struct KerasLayout {
  std::map<std::string, std::string> datasets; ///< of model.weights.h5, to the value's name
  std::map<std::string, std::string> groups;   ///< of model.weights.h5, to the layer's name
  /// Each layer of the model and the names of its values, trainable ones first.
  std::vector<std::pair<std::string, std::vector<std::string>>> layers;
  std::vector<std::string> optimizer; ///< names of the optimizer's values, in Keras's order
  bool scalesLoss = false;            ///< the first four are a LossScaleOptimizer's
};

/// The bytes of model.weights.h5. Every name of the layout must have a value; the optimizer's may
/// be missing as a whole.
llvm::Expected<std::string> makeWeightsFile(const KerasLayout &layout, const WeightFile &values);

/// The bytes of a legacy .h5 model. `config` is the object of config.json.
llvm::Expected<std::string> makeLegacyFile(const KerasLayout &layout, const WeightFile &values,
                                           const llvm::json::Object &config,
                                           llvm::StringRef kerasVersion);

/// `text` (a JSON object) with the value at `keys` replaced by `value`, or added to the innermost
/// object that exists. All other bytes stay as they are. Nothing when the text is no object.
std::optional<std::string> spliceJson(llvm::StringRef text, llvm::ArrayRef<llvm::StringRef> keys,
                                      llvm::StringRef value);

/// JSON as Python's json module writes it: floats with a decimal point, Infinity; keys sorted.
std::string printPythonJson(const llvm::json::Value &value);

} // namespace mpc::keras

#endif
