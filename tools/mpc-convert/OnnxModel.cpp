// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpc-convert/OnnxModel.h"

#include "mpc/Export/ONNX/OnnxFile.h"
#include "mpc/Import/Keras/InputError.h"
#include "mpc/Import/ONNX/DataTypes.h"

#include "runtime/data/convert.h"

using namespace mpc;
using llvm::StringRef;

static bool isOfTraining(StringRef name) {
  return name.starts_with("optimizer/") || name.starts_with("metric/") ||
         name.starts_with("random/");
}

llvm::Expected<std::string> mpc::fillOnnxModel(const keras::WeightFile &values, StringRef file,
                                               const std::string &path) {
  llvm::Expected<onnx::Model> model = onnx::readModel(path);
  if (!model)
    return model.takeError();
  std::map<StringRef, const onnx::Tensor *> initializers;
  for (const onnx::Tensor &tensor : model->graph.initializers)
    initializers[tensor.name] = &tensor;
  llvm::Error errors = llvm::Error::success();
  auto report = [&](StringRef name, const llvm::Twine &message) {
    errors = llvm::joinErrors(std::move(errors), keras::inputError(file + ":" + name, message));
  };
  std::map<std::string, std::vector<char>> filled;
  for (const auto &[name, value] : values) {
    if (isOfTraining(name))
      continue;
    auto found = initializers.find(name);
    if (found == initializers.end()) {
      report(name, path + " has no initializer of this name; expected weights of this model");
      continue;
    }
    const onnx::Tensor &tensor = *found->second;
    data::Array array = data::Array::copyOf(value.dtype, value.dims, value.bytes.data());
    if (array.dims() != tensor.shape) {
      report(name, "has shape " + data::formatShape(array.dims()) + "; expected " +
                       data::formatShape(tensor.shape) + "; use weights of this model");
      continue;
    }
    const std::optional<mpc_rt_dtype_t> type = onnx::storedType(tensor.type);
    data::Result<data::Array> converted =
        !type ? data::Result<data::Array>(data::Failure("belongs to an initializer of " +
                                                        onnx::dataTypeName(tensor.type).str() +
                                                        ", which takes no values of other files"))
        : array.dtype() == *type ? data::Result<data::Array>(array)
                                 : data::convertArray(array, *type, data::Conversion::Direct);
    if (!converted) {
      report(name, converted.failure().messages.front());
      continue;
    }
    const auto *bytes = reinterpret_cast<const char *>(converted->data());
    filled[name].assign(bytes, bytes + converted->bytes());
  }
  if (!errors && filled.empty())
    report("", "holds none of the model's initializers; expected weights of this model");
  if (errors)
    return std::move(errors);
  llvm::Expected<std::string> content = onnx::makeModelFile(std::move(*model), filled);
  if (content)
    return content;
  return keras::inputError(path, llvm::toString(content.takeError()));
}
