// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensors that NumPy cannot hold: in memory of a GPU, by DLPack.
#ifndef MPC_PYTHON_TENSOR_H
#define MPC_PYTHON_TENSOR_H

#include "mpc-rt/dlpack_types.h"
#include "mpc-rt/model.h"

#include <cstddef>
#include <memory>
#include <nanobind/nanobind.h>
#include <string>
#include <vector>

namespace mpc::python {

/// Rows of a dense, row-major tensor that another library made and this object keeps. Its memory is
/// never looked at here: the runtime checks the device, and reads where it is.
class DeviceTensor {
public:
  /// Takes what `object.__dlpack__` gives.
  explicit DeviceTensor(nanobind::object object);

  const std::vector<int64_t> &shape() const { return extents; }
  std::string dtype() const;
  std::pair<int, int> device() const;
  /// Rows [begin, end), which must be in range.
  DeviceTensor rows(int64_t begin, int64_t end) const;
  /// The same elements under another shape.
  DeviceTensor reshaped(std::vector<int64_t> shape) const;
  /// The tensor as the C ABI takes it; valid as long as this object is.
  DLManagedTensor view() const;

private:
  std::shared_ptr<DLManagedTensor> owner;
  std::vector<int64_t> extents;
  uint64_t offset; // in bytes, from the owner's data
};

} // namespace mpc::python
#endif
