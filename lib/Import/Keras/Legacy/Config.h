// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Architectures and training configs of Keras 2, and of every legacy .h5 file, in the spelling of
// Keras 3's config.json. Only spelling is changed here; nothing is judged.
#ifndef MPC_LIB_IMPORT_KERAS_LEGACY_CONFIG_H
#define MPC_LIB_IMPORT_KERAS_LEGACY_CONFIG_H

#include "mpc/Import/Keras/Config.h"
#include "mpc/Training/TrainingRules.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

#include <optional>
#include <string>
#include <vector>

namespace mpc::keras {

/// A loss scale that TensorFlow 2.1's policies carried.
struct LegacyLossScale {
  double initial = 32768.0;
  int64_t growthSteps = 2000;
  bool dynamic = true;
};

/// An object as Keras 3 serialises it.
llvm::json::Object serialized(llvm::StringRef module, llvm::StringRef className,
                              llvm::json::Object config);

/// Whether `object` is a serialised model without module names, as Keras 2 and .h5 files have it.
bool isLegacyModel(const llvm::json::Object &object);

/// In the object of a model in today's spelling: the version of Keras 2 whose formulas it means.
constexpr llvm::StringLiteral kSemanticsKey("keras2_semantics");

/// `{"class_name", "config"}` of a model as config.json holds it, with kSemanticsKey where the file
/// is of Keras 2. `scale` takes the loss scale of the first policy that has one.
llvm::json::Object modernizeModel(const llvm::json::Object &legacy, KerasVersion version,
                                  std::optional<LegacyLossScale> &scale);

/// training_config of a .h5 file as a compile_config.
llvm::json::Object modernizeTraining(const llvm::json::Object &legacy,
                                     const std::optional<LegacyLossScale> &scale);

/// What Keras 2 calls the outputs of a model (in today's spelling) in the names of their losses and
/// metrics: the layers that compute them, a repeated one with a number. Empty for one output.
std::vector<std::string> namesOfOutputs(const llvm::json::Object &model);

/// Takes the outputs' names off those of their metrics: HDF5 files of 2.4 and later hold metrics as
/// they were built, with names in which those of their outputs are, and read them so.
void takeOutputNamesOff(llvm::json::Object &compileConfig, llvm::ArrayRef<std::string> outputs);

/// Metrics under the names that Keras 2.0 to 2.2 gives them, by itself: those of the functions.
void spellMetricsOut(llvm::json::Object &compileConfig);

/// compile_config of an archive of Keras 2.12 to 2.16 as Keras 3 has it.
llvm::json::Object modernizeCompileConfig(const llvm::json::Object &legacy);

/// Whose training it is: the version decides, and of versions that had two kinds of optimizers, or
/// where it is only assumed, how the optimizer is written. `optimizer` is as in the file.
TrainingRules findTrainingRules(KerasVersion version, const llvm::json::Value *optimizer);

} // namespace mpc::keras

#endif
