// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// safetensors files (https://huggingface.co/docs/safetensors): 8 bytes of header length, a JSON
// header, the tensors' bytes.
#ifndef MPC_RUNTIME_DATA_SAFETENSORS_H
#define MPC_RUNTIME_DATA_SAFETENSORS_H

#include "runtime/data/array.h"

namespace mpc::data {

struct Safetensors {
  NamedArrays tensors;
  std::map<std::string, std::string> metadata; // the header's __metadata__
};

/// Reads all tensors. Refused: headers above 64 MB or of more than 2^20 values, doubled names,
/// holes or overlaps between tensors, sizes that contradict shape and dtype, bytes after the last
/// tensor.
Result<Safetensors> readSafetensors(const std::string &path);
/// The same from memory; `place` begins every message.
Result<Safetensors> parseSafetensors(const uint8_t *bytes, uint64_t size, const std::string &place);

/// The same without copying: tensors that begin on a cache line are views of `bytes`, which `owner`
/// keeps alive (it may be null for memory that outlives everything).
Result<Safetensors> viewSafetensors(const std::shared_ptr<void> &owner, uint8_t *bytes,
                                    uint64_t size, const std::string &place);

/// The order in which writers lay tensors out: first those whose sizes are whole cache lines, so
/// that readers find them aligned, whatever small tensor has an odd size; among them by name.
std::vector<NamedArrays::const_iterator> fileOrder(const Safetensors &content);

/// The same bytes for the same content; the data begins on a cache line.
std::string formatSafetensorsHeader(const Safetensors &content);
/// The file appears whole or not at all.
Status writeSafetensors(const std::string &path, const Safetensors &content);

} // namespace mpc::data
#endif
