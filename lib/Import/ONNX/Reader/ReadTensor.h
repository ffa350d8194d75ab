// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensors of a file as packed little-endian elements, whichever field or file they stand in.
#ifndef MPC_IMPORT_ONNX_READER_READTENSOR_H
#define MPC_IMPORT_ONNX_READER_READTENSOR_H

#include "lib/Import/ONNX/Reader/ExternalData.h"
#include "lib/Import/ONNX/Reader/ReadLimits.h"
#include "mpc/Import/ONNX/Model.h"

#include <deque>

namespace mpc::onnx {

namespace file {
class ModelProto;
class SparseTensorProto;
class TensorProto;
} // namespace file

/// The memory and files of a model's tensors: `Model::storage`.
struct Storage {
  Storage(std::shared_ptr<file::ModelProto> message, std::string folder, const ReadLimits &limits)
      : message(std::move(message)), external(std::move(folder), limits.externalFiles) {}
  std::shared_ptr<file::ModelProto> message;
  ExternalData external;
  std::deque<std::vector<char>> converted;
};

class TensorReader {
public:
  TensorReader(Storage &storage, const ReadLimits &limits) : storage(storage), limits(limits) {}

  /// Errors say what is wrong, without the names of file and tensor.
  llvm::Expected<Tensor> read(const file::TensorProto &from);
  /// As a dense tensor.
  llvm::Expected<Tensor> read(const file::SparseTensorProto &from);

private:
  llvm::Error readStrings(const file::TensorProto &from, uint64_t elements, Tensor &to);
  llvm::Error readExternal(const file::TensorProto &from, uint64_t bytes, Tensor &to);
  llvm::Error readField(const file::TensorProto &from, uint64_t elements, Tensor &to);
  llvm::Error narrow(const file::TensorProto &from, uint64_t elements, Tensor &to);
  std::vector<char> &allocate(uint64_t bytes);
  void normalizeBool(Tensor &tensor);

  Storage &storage;
  const ReadLimits &limits;
  uint64_t sparseBytes = 0, externalBytes = 0;
};

} // namespace mpc::onnx

#endif // MPC_IMPORT_ONNX_READER_READTENSOR_H
