// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NumPy's .npz: a zip archive of .npy members.
#ifndef MPC_RUNTIME_DATA_NPZ_H
#define MPC_RUNTIME_DATA_NPZ_H

#include "runtime/data/array.h"

#include <functional>

namespace mpc::data {

/// Says of each name, without `.npy`, whether its array is to be read; empty: all are.
using WantedNames = std::function<bool(const std::string &name)>;

/// The names of an archive's arrays, and those arrays that were wanted.
struct NpzContent {
  std::vector<std::string> names; // of all arrays, in name order
  NamedArrays arrays;             // the wanted ones
};

/// Member names are opaque strings (they contain `/` and `:`); they never become file names. The
/// directory is checked before any member is inflated: overlapping members, doubled names and
/// members that are no arrays are refused, also where they are not wanted. Sizes are checked
/// against the compressed size before anything is allocated, all of them together against the
/// file's size; checksums after reading.
Result<NpzContent> readNpz(const std::string &path, const WantedNames &isWanted);
Result<NamedArrays> readNpz(const std::string &path);

/// Uncompressed, in name order, the same bytes for the same arrays; 16-bit floats are written as
/// float32 (exact). The file appears whole or not at all.
Status writeNpz(const std::string &path, const NamedArrays &arrays);

} // namespace mpc::data
#endif
