// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Driver/WeightsFile.h"
#include "dialects/mpc/IR/Mpc.h"
#include "runtime/data/safetensors.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mpc;

mpc_rt_dtype_t mpc::toRuntimeDtype(Type type) {
  std::string spelling;
  llvm::raw_string_ostream(spelling) << type;
#define MPC_RT_DTYPE(enumerator, value, bytes, keras, mlir, safetensors, numpy)                    \
  if (spelling == mlir)                                                                            \
    return value;
#include "mpc-rt/dtype.inc"
#undef MPC_RT_DTYPE
  llvm_unreachable("variables have element types of Keras");
}

static llvm::Error fault(const Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

llvm::Error mpc::readWeightsBeside(StringRef model, ModuleOp module, WeightStore &weights) {
  SmallString<128> path(model);
  llvm::sys::path::replace_extension(path, "safetensors");
  if (path == model || !llvm::sys::fs::exists(path))
    return llvm::Error::success();
  data::Result<data::Safetensors> read = data::readSafetensors(path.str().str());
  llvm::Error errors = llvm::Error::success();
  if (!read) {
    for (const std::string &message : read.failure().messages)
      errors = llvm::joinErrors(std::move(errors), fault(message));
    return errors;
  }
  auto refuse = [&](StringRef name, const Twine &what) {
    errors = llvm::joinErrors(std::move(errors),
                              fault(path + ":" + name + ": " + what +
                                    "; expected the weights that were written with this IR"));
  };
  for (const auto &[name, array] : read->tensors) {
    auto variable = module.lookupSymbol<VariableOp>(name);
    if (!variable) {
      refuse(name, "the IR has no such variable");
      continue;
    }
    auto type = cast<RankedTensorType>(variable.getType());
    if (toRuntimeDtype(type.getElementType()) != array.dtype() ||
        !llvm::equal(type.getShape(), array.dims())) {
      std::string expected;
      llvm::raw_string_ostream(expected) << type;
      refuse(name, "is " + data::formatShape(array.dims()) + " of " +
                       data::dtypeInfo(array.dtype())->keras + ", but the IR has " + expected);
      continue;
    }
    weights.add(name, {array.dtype(), array.dims(),
                       std::vector<uint8_t>(array.data(), array.data() + array.bytes())});
  }
  return errors;
}
