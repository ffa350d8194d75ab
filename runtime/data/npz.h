// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NumPy's .npz: a zip archive of .npy members.
#ifndef MPC_RUNTIME_DATA_NPZ_H
#define MPC_RUNTIME_DATA_NPZ_H

#include "data/array.h"

namespace mpc::data {

/// All members, under their names without `.npy`. Member names are opaque strings (they contain
/// `/` and `:`); they never become file names. Sizes are checked against the compressed size before
/// anything is allocated, checksums after reading.
Result<NamedArrays> readNpz(const std::string &path);

/// Uncompressed, in name order, the same bytes for the same arrays; 16-bit floats are written as
/// float32 (exact). The file appears whole or not at all.
Status writeNpz(const std::string &path, const NamedArrays &arrays);

} // namespace mpc::data
#endif
