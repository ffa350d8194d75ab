// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Limits of a file, checked before memory is taken for it.
#ifndef MPC_IMPORT_ONNX_READER_READLIMITS_H
#define MPC_IMPORT_ONNX_READER_READLIMITS_H

#include <cstdint>

namespace mpc::onnx {

struct ReadLimits {
  /// Bytes of the file, without external data: what protobuf can read.
  uint64_t fileBytes = INT32_MAX;
  /// Messages in each other. A graph in a node's attribute takes three levels.
  int messageDepth = 100;
  /// Graphs in each other.
  unsigned graphDepth = 24;
  /// Nodes, attributes, tensors, values and types of all graphs and functions together.
  uint64_t parts = 2'000'000;
  /// Bytes of a name, and of all names together.
  uint64_t nameBytes = 65'536, allNameBytes = uint64_t{256} << 20;
  /// Extents of a shape.
  unsigned rank = 64;
  /// Elements of a tensor.
  uint64_t elements = uint64_t{1} << 40;
  /// Bytes that dense forms of sparse tensors take together.
  uint64_t sparseBytes = uint64_t{1} << 30;
  /// Bytes of all tensors that lie in other files, and these files.
  uint64_t externalBytes = uint64_t{1} << 40;
  unsigned externalFiles = 16'384;
  /// Seconds of processor time for the trial in a child process; besides these, one for 16 MB.
  unsigned seconds = 5;
};

} // namespace mpc::onnx

#endif // MPC_IMPORT_ONNX_READER_READLIMITS_H
