// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CRC-32C (Castagnoli), the checksum of checkpoints and of TensorBoard's record framing.
#ifndef MPC_RUNTIME_DATA_CRC32C_H
#define MPC_RUNTIME_DATA_CRC32C_H

#include <cstddef>
#include <cstdint>

namespace mpc::data {

/// Extends `crc` (0 at the start) by `size` bytes. RFC 3720, appendix B.4.
uint32_t crc32c(uint32_t crc, const void *data, size_t size);

} // namespace mpc::data
#endif
