// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The messages of the process that runs libhdf5. The parent checks everything that it reads as if
// an attacker had written it, because one may have.
#ifndef MPC_LIB_IMPORT_KERAS_HDF5CHILD_H
#define MPC_LIB_IMPORT_KERAS_HDF5CHILD_H

#include "mpc/Import/Keras/Weights.h"

namespace mpc::keras {

/// A record of the stream: this header, `pathBytes` of path, `rank` extents as uint64, then
/// `dataBytes` of data. Error: the data is the message. Strings: the path is GROUP@ATTRIBUTE, and
/// the data is its strings, each after its length as uint64.
struct Hdf5Record {
  enum Kind : uint32_t { Dataset = 1, Error = 2, End = 3, Strings = 4 };
  uint32_t kind;
  uint32_t dtype; ///< mpc_rt_dtype_t
  uint32_t rank;
  uint32_t pathBytes;
  uint64_t dataBytes;
};

constexpr uint32_t kMaxHdf5Rank = 32;
constexpr uint32_t kMaxHdf5PathBytes = 4096;
constexpr uint64_t kMaxHdf5MessageBytes = 4096;

/// Size of one element, 0 for an unknown dtype.
uint64_t dtypeBytes(uint32_t dtype);

/// Writes every dataset of `image`, and the attributes in which Keras keeps texts and names, to the
/// file descriptor `pipe`, then End; or one Error. Runs in the child and may crash there. Returns
/// false when it has written Error.
bool writeHdf5Records(int pipe, llvm::StringRef image, const WeightLimits &limits);

} // namespace mpc::keras

#endif
