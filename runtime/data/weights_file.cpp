// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One reader for weights, states and checkpoints.
#include "runtime/data/weights_file.h"

#include "runtime/data/checksum.h"
#include "runtime/data/input_file.h"
#include "runtime/data/variable_tensor.h"

namespace mpc::data {

void dropCheckpointPrefix(Safetensors &content) {
  auto format = content.metadata.find("format");
  if (format == content.metadata.end() || format->second != "mpc-checkpoint")
    return;
  constexpr size_t length = sizeof modelPrefix - 1;
  NamedArrays renamed;
  for (auto &[name, array] : content.tensors)
    if (!hasPrefix(name, callbackPrefix))
      renamed.emplace(hasPrefix(name, modelPrefix) ? name.substr(length) : name, array);
  content.tensors = std::move(renamed);
}

Result<Safetensors> readWeightsFile(const std::string &path) {
  Result<std::string> bytes = readWholeFile(path, UINT64_MAX);
  if (!bytes)
    return bytes.failure();
  if (hasChecksum(*bytes))
    if (Status status = verifyChecksum(*bytes, path); !status)
      return status.failure();
  // The tensors are views of the file's bytes, which would be there twice otherwise.
  auto owner = std::make_shared<std::string>(std::move(*bytes));
  Result<Safetensors> content =
      viewSafetensors(owner, reinterpret_cast<uint8_t *>(owner->data()), owner->size(), path);
  if (content)
    dropCheckpointPrefix(*content);
  return content;
}

} // namespace mpc::data
