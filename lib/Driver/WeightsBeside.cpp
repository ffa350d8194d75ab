// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Driver/WeightsBeside.h"
#include "dialects/mpc/IR/Mpc.h"
#include "mpc/Support/Dtype.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mpc;

static llvm::Error checkWeights(const WeightStore &weights, StringRef file, ModuleOp module) {
  llvm::Error errors = llvm::Error::success();
  auto refuse = [&](StringRef name, const Twine &what) {
    errors = llvm::joinErrors(
        std::move(errors),
        llvm::createStringError(llvm::inconvertibleErrorCode(),
                                file + ":" + name + ": " + what +
                                    "; expected the weights that were written with this IR"));
  };
  for (const auto &[name, weight] : weights.all()) {
    auto variable = module.lookupSymbol<VariableOp>(name);
    if (!variable) {
      refuse(name, "the IR has no such variable");
      continue;
    }
    auto type = cast<RankedTensorType>(variable.getType());
    if (runtimeDtypeOf(type.getElementType()) == weight.dtype &&
        llvm::equal(type.getShape(), weight.dims))
      continue;
    std::string expected;
    llvm::raw_string_ostream(expected) << type;
    auto extents =
        llvm::map_range(weight.dims, [](int64_t extent) { return std::to_string(extent); });
    refuse(name, "is [" + llvm::join(extents, ", ") + "] of " + kerasNameOf(weight.dtype) +
                     ", but the IR has " + expected);
  }
  return errors;
}

llvm::Expected<WeightStore> mpc::readWeightsBeside(const CompileOptions &options, ModuleOp module) {
  SmallString<128> path(options.model);
  llvm::sys::path::replace_extension(path, "safetensors");
  if (!options.readWeights || options.model == "-" || !llvm::sys::fs::exists(path))
    return WeightStore();
  llvm::Expected<WeightStore> weights = options.readWeights(path.str().str());
  if (!weights)
    return weights.takeError();
  if (llvm::Error errors = checkWeights(*weights, path, module))
    return std::move(errors);
  return weights;
}
