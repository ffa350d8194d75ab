// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files that hold tensors of a model, which names them: only regular files below the model's folder
// are opened, never through a link.
#ifndef MPC_IMPORT_ONNX_READER_EXTERNALDATA_H
#define MPC_IMPORT_ONNX_READER_EXTERNALDATA_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace mpc::onnx {

class ExternalData {
public:
  /// `folder`: that of the model; empty where there is none and every file is refused.
  ExternalData(std::string folder, unsigned maximumFiles)
      : folder(std::move(folder)), maximumFiles(maximumFiles) {}
  ExternalData(const ExternalData &) = delete;
  ExternalData &operator=(const ExternalData &) = delete;
  ~ExternalData();

  /// All bytes of a file, mapped as long as this object lives. Errors say what is wrong with it,
  /// without the name of the model.
  llvm::Expected<llvm::ArrayRef<char>> map(llvm::StringRef location);

private:
  std::string folder;
  unsigned maximumFiles;
  llvm::StringMap<llvm::ArrayRef<char>> files;
};

} // namespace mpc::onnx

#endif // MPC_IMPORT_ONNX_READER_EXTERNALDATA_H
