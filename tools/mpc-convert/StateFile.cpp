// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values in and out, through the runtime's data library.
#include "tools/mpc-convert/StateFile.h"
#include "tools/DataErrors.h"

#include "mpc/Import/Keras/Archive.h"
#include "mpc/Import/Keras/InputError.h"

#include "runtime/data/atomic_file.h"
#include "runtime/data/convert.h"
#include "runtime/data/npz.h"
#include "runtime/data/safetensors.h"
#include "runtime/data/weights_file.h"
#include "runtime/data/zip_writer.h"

#include <set>

using namespace mpc;
using keras::StoredTensor;
using keras::WeightFile;
using llvm::StringRef;

static data::Array toArray(const StoredTensor &tensor) {
  return data::Array::copyOf(tensor.dtype, tensor.dims, tensor.bytes.data());
}

static StoredTensor toStored(const data::Array &array) {
  return {array.dtype(), array.dims(), {array.data(), array.data() + array.bytes()}};
}

StateFileKind mpc::sniffStateFile(const llvm::MemoryBuffer &file) {
  StringRef bytes = file.getBuffer();
  switch (keras::sniffContent(bytes)) {
  case keras::FileKind::Zip:
    return bytes.contains("config.json") ? StateFileKind::Keras : StateFileKind::Npz;
  case keras::FileKind::Hdf5:
    // The attribute's name is stored as it is, in the header of the root group.
    return bytes.contains("model_config") ? StateFileKind::Legacy : StateFileKind::WeightsOnly;
  case keras::FileKind::Json:
    return StateFileKind::Unknown;
  case keras::FileKind::Other:
    return bytes.size() > 8 && bytes[8] == '{' ? StateFileKind::Safetensors
                                               : StateFileKind::Unknown;
  }
  return StateFileKind::Unknown;
}

StateFileKind mpc::kindOfSuffix(StringRef path) {
  if (path.ends_with(".keras"))
    return StateFileKind::Keras;
  if (path.ends_with(".weights.h5"))
    return StateFileKind::WeightsOnly;
  if (path.ends_with(".h5") || path.ends_with(".hdf5"))
    return StateFileKind::Legacy;
  if (path.ends_with(".safetensors"))
    return StateFileKind::Safetensors;
  if (path.ends_with(".onnx"))
    return StateFileKind::Onnx;
  return path.ends_with(".npz") ? StateFileKind::Npz : StateFileKind::Unknown;
}

llvm::Expected<WeightFile> mpc::readValues(StateFileKind kind, const std::string &path) {
  data::NamedArrays arrays;
  if (kind == StateFileKind::Npz) {
    data::Result<data::NamedArrays> read = data::readNpz(path);
    if (!read)
      return toError(read.failure());
    arrays = std::move(*read);
  } else {
    data::Result<data::Safetensors> read = data::readWeightsFile(path);
    if (!read)
      return toError(read.failure());
    arrays = std::move(read->tensors);
  }
  WeightFile values;
  for (const auto &[name, array] : arrays)
    values.emplace(name, toStored(array));
  return values;
}

llvm::Error mpc::writeValues(StateFileKind kind, const std::string &path,
                             const WeightFile &values) {
  data::Safetensors content;
  for (const auto &[name, tensor] : values)
    content.tensors.emplace(name, toArray(tensor));
  content.metadata["format"] = "mpc";
  data::Status status = kind == StateFileKind::Npz ? data::writeNpz(path, content.tensors)
                                                   : data::writeSafetensors(path, content);
  return status ? llvm::Error::success() : toError(status.failure());
}

llvm::Error mpc::writeArchive(const std::string &path, StringRef metadata, StringRef config,
                              StringRef weights,
                              const std::map<std::string, std::string> &vocabularies) {
  data::ZipWriter writer(path);
  data::Status status = writer.open();
  if (!status)
    return toError(status.failure());
  auto add = [&](const char *name, StringRef bytes) {
    writer.add(name, "", bytes.data(), bytes.size());
  };
  add("metadata.json", metadata);
  add("config.json", config);
  add("model.weights.h5", weights);
  for (const auto &[name, text] : vocabularies)
    add(name.c_str(), text);
  status = writer.finish();
  return status ? llvm::Error::success() : toError(status.failure());
}

llvm::Error mpc::writeBytes(const std::string &path, const std::string &bytes) {
  data::Status status = data::writeFileAtomically(path, bytes);
  return status ? llvm::Error::success() : toError(status.failure());
}

llvm::Expected<WeightFile> mpc::fitValues(const WeightFile &values, const ModelState &state,
                                          StringRef file, std::vector<std::string> &leftOut) {
  WeightFile fitted;
  llvm::Error errors = llvm::Error::success();
  auto report = [&](StringRef place, const llvm::Twine &message) {
    errors = llvm::joinErrors(std::move(errors), keras::inputError(file + ":" + place, message));
  };
  std::set<StringRef> known;
  for (const StateVariable &variable : state.variables) {
    known.insert(variable.name);
    auto value = values.find(variable.name);
    if (value == values.end()) {
      if (!StringRef(variable.name).starts_with("optimizer/"))
        report(variable.name, "is missing; expected every variable of the model");
      continue;
    }
    data::Array array = toArray(value->second);
    if (array.dims() != variable.dims) {
      report(variable.name, "has shape " + data::formatShape(array.dims()) + "; expected " +
                                data::formatShape(variable.dims) + "; use weights of this model");
      continue;
    }
    data::Result<data::Array> converted =
        array.dtype() == variable.dtype
            ? data::Result<data::Array>(array)
            : data::convertArray(array, variable.dtype, data::Conversion::Direct);
    if (converted)
      fitted.emplace(variable.name, toStored(*converted));
    else
      report(variable.name, converted.failure().messages.front());
  }
  for (const auto &[name, value] : values) {
    if (known.count(name))
      continue;
    if (StringRef(name).starts_with("optimizer/"))
      leftOut.push_back(name);
    // A training state (mpc_rt_context_save) also holds what no weights file needs.
    else if (!StringRef(name).starts_with("metric/") && !StringRef(name).starts_with("random/"))
      report(name, "the model has no such variable; expected weights of this model");
  }
  if (errors)
    return std::move(errors);
  return fitted;
}
