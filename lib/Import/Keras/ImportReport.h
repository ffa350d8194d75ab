// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The messages of one import: errors, all at once, warnings, and layers of which only inference is
// supported.
#ifndef MPC_LIB_IMPORT_KERAS_IMPORTREPORT_H
#define MPC_LIB_IMPORT_KERAS_IMPORTREPORT_H

#include "mpc/Import/Keras/Config.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace mpc::keras {

class ImportReport {
public:
  /// `readsWeights`: variables have the values of a file, so that predictions need no initializers.
  ImportReport(llvm::StringRef fileName, bool readsWeights)
      : fileName(fileName), readsWeights(readsWeights) {}

  llvm::StringRef getFileName() const { return fileName; }

  /// "FILE:path: message", or "FILE: message" where the path is empty.
  void error(llvm::StringRef path, const llvm::Twine &message);
  /// An error that names its place itself.
  void error(llvm::Error error);
  bool hasErrors() const { return failed; }
  llvm::Error takeErrors() { return std::move(errors); }

  void warn(const llvm::Twine &message) { warnings.push_back(message.str()); }
  llvm::ArrayRef<std::string> getWarnings() const { return warnings; }

  /// A layer of which mpc has only what it does at inference.
  void noteInferenceOnly(llvm::StringRef path, llvm::StringRef className);
  llvm::ArrayRef<std::string> getInferenceOnly() const { return inferenceOnly; }
  /// An initializer, regularizer or constraint of the model's author. Where the weights are read a
  /// prediction needs none; without it the layer cannot be trained as it was (`onlyTraining`).
  void leaveOut(const LayerConfig &layer, llvm::StringRef path, const llvm::Twine &message,
                bool onlyTraining);

private:
  const std::string fileName;
  const bool readsWeights;
  llvm::Error errors = llvm::Error::success();
  bool failed = false;
  std::vector<std::string> warnings, inferenceOnly;
};

} // namespace mpc::keras

#endif
