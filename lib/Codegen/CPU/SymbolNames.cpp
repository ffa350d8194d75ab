// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Equal functions of two models have the same object but for names, which llvm-objcopy's library
// changes.
#include "lib/Codegen/CPU/SymbolNames.h"
#include "mpc/Support/InternalError.h"
#include "llvm/ObjCopy/CommonConfig.h"
#include "llvm/ObjCopy/ELF/ELFConfig.h"
#include "llvm/ObjCopy/ELF/ELFObjcopy.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/raw_ostream.h"

using namespace mpc;

llvm::Expected<std::string> mpc::renameSymbols(llvm::StringRef object,
                                               const llvm::StringMap<std::string> &names) {
  auto file = llvm::object::ObjectFile::createELFObjectFile({object, "object"});
  if (!file)
    return internalError("an object cannot be read: " + llvm::toString(file.takeError()));
  llvm::objcopy::CommonConfig config;
  for (const auto &name : names)
    config.SymbolsToRename[name.getKey()] = name.second;
  llvm::SmallString<0> result;
  llvm::raw_svector_ostream stream(result);
  if (llvm::Error error = llvm::objcopy::elf::executeObjcopyOnBinary(
          config, llvm::objcopy::ELFConfig(), llvm::cast<llvm::object::ELFObjectFileBase>(**file),
          stream))
    return internalError("symbols cannot be renamed: " + llvm::toString(std::move(error)));
  return result.str().str();
}
