// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpcc/WeightsFile.h"
#include "data/safetensors.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"

using namespace mpc;

bool mpc::readWeightsBeside(CompileOptions &options) {
  if (!llvm::StringRef(options.model).ends_with(".mlir") &&
      !llvm::StringRef(options.model).ends_with(".mlirbc"))
    return true;
  llvm::SmallString<128> path(options.model);
  llvm::sys::path::replace_extension(path, "safetensors");
  if (!llvm::sys::fs::exists(path))
    return true;
  data::Result<data::Safetensors> read = data::readSafetensors(path.str().str());
  if (!read) {
    for (const std::string &message : read.failure().messages)
      llvm::WithColor::error(llvm::errs()) << message << "\n";
    return false;
  }
  options.weightsFile = path.str().str();
  for (const auto &[name, array] : read->tensors)
    options.weights.add(name, {array.dtype(), array.dims(),
                               std::vector<uint8_t>(array.data(), array.data() + array.bytes())});
  return true;
}
