// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The .npy format (NumPy Enhancement Proposal 1, versions 1.0 to 3.0).
#ifndef MPC_RUNTIME_DATA_NPY_H
#define MPC_RUNTIME_DATA_NPY_H

#include "runtime/data/array.h"

#include <functional>

namespace mpc::data {

/// The content of a .npy file's header.
struct NpyHeader {
  mpc_rt_dtype_t dtype = MPC_RT_FLOAT32;
  bool bigEndian = false, fortranOrder = false;
  std::vector<int64_t> dims;
  bool isText = false;     // of code points in int32, which are the last of dims
  uint64_t dataOffset = 0; // where the elements begin
};

/// Parses the start of a .npy, strictly: the header must be the Python dict that NumPy writes, is
/// never evaluated, and object arrays are refused. `totalSize` is the size of the whole .npy; the
/// elements must fill it exactly. `place` begins every message. Only the first
/// min(totalSize, npyHeaderLimit) bytes need to be in `start`.
Result<NpyHeader> parseNpyHeader(const uint8_t *start, size_t available, uint64_t totalSize,
                                 const std::string &place);
constexpr size_t npyHeaderLimit = 12 + 65536;

/// Reads exactly the given number of bytes; a Failure otherwise.
using ByteSource = std::function<Status(void *data, uint64_t size)>;

/// Reads a .npy of `totalSize` bytes: byte order and Fortran order are converted to ours.
Result<Array> readNpy(const ByteSource &source, uint64_t totalSize, const std::string &place);
Result<Array> readNpyFile(const std::string &path);

/// The array as numpy.save writes it; 16-bit floats as float32 (exact). The file appears whole or
/// not at all.
Status writeNpyFile(const std::string &path, const Array &array);

/// The bytes before the elements, version 1.0, padded to 64. bfloat16 has no NumPy type: widen it.
std::string npyHeader(const Array &array);

} // namespace mpc::data
#endif
