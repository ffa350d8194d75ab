// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checksum of safetensors files that hold a training state: a CRC-32C in the metadata, of the
// whole file with the checksum's own eight digits as zeros.
#ifndef MPC_RUNTIME_DATA_CHECKSUM_H
#define MPC_RUNTIME_DATA_CHECKSUM_H

#include "runtime/data/safetensors.h"

#include <string_view>

namespace mpc::data {

/// Writes `content` with its checksum; the file appears whole or not at all.
Status writeWithChecksum(const std::string &path, Safetensors content);

/// Whether the file says a checksum at all.
bool hasChecksum(std::string_view bytes);
/// Fails for a file without a checksum, or with another one than it says.
Status verifyChecksum(std::string_view bytes, const std::string &path);

} // namespace mpc::data
#endif
