// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SHA-256 (FIPS 180-4), as mpcc writes it into manifests. libmpcrt needs no library of cryptography
// for the one hash that it compares.
#ifndef MPC_RUNTIME_BASE_SHA256_H
#define MPC_RUNTIME_BASE_SHA256_H

#include <cstddef>
#include <string>

namespace mpc::rt {

// The digest of `bytes` bytes, in 64 hexadecimal digits. It takes about 2 GB/s on CPUs with
// instructions for it, 0.2 GB/s on others.
std::string sha256(const void *data, size_t bytes);
// The same without such instructions.
std::string sha256Portably(const void *data, size_t bytes);

} // namespace mpc::rt

#endif
