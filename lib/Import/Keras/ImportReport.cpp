// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/ImportReport.h"

#include "mpc/Import/Keras/InputError.h"

namespace mpc::keras {

void ImportReport::error(llvm::StringRef path, const llvm::Twine &message) {
  error(inputError(path.empty() ? fileName : fileName + ":" + path.str(), message));
}

void ImportReport::error(llvm::Error error) {
  failed = true;
  errors = llvm::joinErrors(std::move(errors), std::move(error));
}

void ImportReport::noteInferenceOnly(llvm::StringRef path, llvm::StringRef className) {
  std::string text = (path + " (" + className + ")").str();
  if (inferenceOnly.empty() || inferenceOnly.back() != text)
    inferenceOnly.push_back(std::move(text));
}

void ImportReport::leaveOut(const LayerConfig &layer, llvm::StringRef path,
                            const llvm::Twine &message, bool onlyTraining) {
  if (!readsWeights)
    return error(path, message);
  warn(path + ": " + message + "; it is left out, and the weights are the file's");
  if (onlyTraining)
    noteInferenceOnly(path, layer.className);
}

} // namespace mpc::keras
