// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files of values: which kind a file is, and those that hold nothing but values.
#ifndef MPC_TOOLS_MPC_CONVERT_STATEFILE_H
#define MPC_TOOLS_MPC_CONVERT_STATEFILE_H

#include "mpc/Driver/ModelState.h"

namespace mpc {

enum class StateFileKind {
  Keras,       ///< .keras archive
  Legacy,      ///< .h5 with a model_config
  WeightsOnly, ///< .weights.h5, and .h5 files of save_weights
  Safetensors,
  Npz,
  Onnx, ///< which only takes the values of another file
  Unknown
};

/// The kind that the bytes of a file say.
StateFileKind sniffStateFile(const llvm::MemoryBuffer &file);
/// The kind that a name's suffix asks for.
StateFileKind kindOfSuffix(llvm::StringRef path);

/// Values by name, from a .safetensors or .npz file.
llvm::Expected<keras::WeightFile> readValues(StateFileKind kind, const std::string &path);
/// The file appears whole or not at all.
llvm::Error writeValues(StateFileKind kind, const std::string &path,
                        const keras::WeightFile &values);
llvm::Error writeArchive(const std::string &path, llvm::StringRef metadata, llvm::StringRef config,
                         llvm::StringRef weights,
                         const std::map<std::string, std::string> &vocabularies);
llvm::Error writeBytes(const std::string &path, const std::string &bytes);

/// `values` as the variables of `state` want them: their dtypes, checked shapes. Every variable of
/// the model must be there; names that no variable has are errors, optimizer/… ones go to
/// `leftOut`.
llvm::Expected<keras::WeightFile> fitValues(const keras::WeightFile &values,
                                            const ModelState &state, llvm::StringRef file,
                                            std::vector<std::string> &leftOut);

} // namespace mpc

#endif // MPC_TOOLS_MPC_CONVERT_STATEFILE_H
