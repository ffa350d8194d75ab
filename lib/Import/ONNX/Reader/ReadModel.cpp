// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a file, or from memory: the bytes, their message, the structs.
#include "lib/Import/ONNX/Reader/ReadModel.h"
#include "lib/Import/ONNX/Reader/MessageConverter.h"
#include "mpc/Support/InputFile.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/Path.h"

using namespace mpc;
using namespace mpc::onnx;

llvm::Expected<Model> mpc::onnx::readModel(llvm::ArrayRef<char> bytes, llvm::StringRef name,
                                           llvm::StringRef folder, const ReadLimits &limits,
                                           Trial trial) {
  auto message = parseMessage(bytes, name, limits, trial);
  if (!message)
    return message.takeError();
  auto storage = std::make_shared<Storage>(*message, folder.str(), limits);
  MessageConverter converter(name, *storage, limits);
  Model model;
  if (!converter.convert(**message, model))
    return converter.takeError();
  model.storage = storage;
  return model;
}

llvm::Expected<Model> mpc::onnx::readModel(llvm::ArrayRef<char> bytes, llvm::StringRef name) {
  return readModel(bytes, name, /*folder=*/"", ReadLimits(), Trial::InChild);
}

llvm::Expected<Model> mpc::onnx::readModel(llvm::StringRef path) {
  auto file = readInputFile(path);
  if (!file)
    return llvm::createStringError(file.getError(),
                                   path + ": cannot be read: " + file.getError().message());
  const llvm::StringRef bytes = (*file)->getBuffer();
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  if (folder.empty() && path != "-")
    folder = ".";
  return readModel({bytes.data(), bytes.size()}, path, folder, ReadLimits(), Trial::InChild);
}
