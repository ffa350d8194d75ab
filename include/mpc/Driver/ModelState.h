// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A model file's variables and their values, the optimizer's included, without compiling it.
#ifndef MPC_DRIVER_MODELSTATE_H
#define MPC_DRIVER_MODELSTATE_H

#include "mpc/Driver/Compile.h"
#include "mpc/Export/Keras/KerasFile.h"
#include "mpc/Support/WeightStore.h"

namespace mpc {

/// A variable of the model or, under optimizer/…, of its optimizer.
struct StateVariable {
  std::string name; ///< as in NAME.safetensors
  mpc_rt_dtype_t dtype = MPC_RT_FLOAT32;
  std::vector<int64_t> dims;
};

struct ModelState {
  std::vector<StateVariable> variables; ///< those of the model, then the optimizer's
  WeightStore values;                   ///< what the file holds of them
  keras::KerasLayout layout;
  std::vector<std::function<void(keras::WeightFile &)>> merges; ///< ImportedModel::merges
  llvm::json::Value config = nullptr;                           ///< the object of config.json
  std::string configText; ///< its text, where the file has it in today's spelling
  std::string metadata;   ///< metadata.json; may be empty
  std::map<std::string, std::string> vocabularies; ///< members of a `.keras` file beside these
  /// Training uses these, after the options; null members when the model is not compiled.
  llvm::json::Value optimizer = nullptr, loss = nullptr, metrics = nullptr;
  /// The loss scaling in effect.
  double initialScale = 0;
  int64_t growthSteps = 0;
  bool isFixedScale = false;
};

/// Reads the Keras model `options.model`, or the weights in the file `weights` (HDF5) into its
/// variables; options are those of a compilation. Prints messages.
ExitCode loadModelState(const CompileOptions &options, const llvm::MemoryBuffer *weights,
                        ModelState &state);

} // namespace mpc

#endif // MPC_DRIVER_MODELSTATE_H
