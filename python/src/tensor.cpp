// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// DLPack capsules of GPU memory. What other libraries put into them is checked before it is used.
#include "python/src/tensor.h"
#include "python/src/dtypes.h"
#include "python/src/errors.h"

namespace nb = nanobind;

namespace mpc::python {
namespace {

// Releases a tensor wherever its last holder goes; deleters of Python libraries want the lock.
void release(DLManagedTensor *tensor) {
  if (!tensor->deleter)
    return;
  nb::gil_scoped_acquire locked;
  tensor->deleter(tensor);
}

int64_t countElements(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count))
      refuse("the tensor has a negative extent or too many elements");
  return count;
}

void checkDense(const DLTensor &tensor) {
  int64_t expected = 1;
  for (int32_t i = tensor.ndim; i-- > 0;) {
    if (tensor.strides && tensor.shape[i] != 1 && tensor.strides[i] != expected)
      refuse("the tensor has strides; expected dense, row-major memory; make it contiguous first");
    expected *= tensor.shape[i];
  }
}

} // namespace

DeviceTensor::DeviceTensor(nb::object object) {
  // By the array API's rules 1 is CUDA's legacy default stream, for which the runtime waits: the
  // producer lets it wait for the stream that it computes on.
  nb::object capsule = object.attr("__dlpack__")(nb::arg("stream") = 1);
  auto *given = static_cast<DLManagedTensor *>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (!given)
    throw nb::python_error();
  // Ours from here on, as the name says to the capsule's destructor.
  if (PyCapsule_SetName(capsule.ptr(), "used_dltensor"))
    throw nb::python_error();
  owner.reset(given, release);
  const DLTensor &tensor = given->dl_tensor;
  if (tensor.ndim < 0 || tensor.ndim > MPC_RT_MAX_RANK || (tensor.ndim && !tensor.shape))
    refuse("the tensor has " + std::to_string(tensor.ndim) + " dimensions; expected 0 to " +
           std::to_string(MPC_RT_MAX_RANK));
  extents.assign(tensor.shape, tensor.shape + tensor.ndim);
  if (countElements(extents) > 0)
    checkDense(tensor);
  offset = tensor.byte_offset;
  (void)dtype();
}

std::string DeviceTensor::dtype() const {
  const DLDataType &type = owner->dl_tensor.dtype;
  return nameOf({type.code, type.bits, type.lanes});
}

std::pair<int, int> DeviceTensor::device() const {
  const DLDevice &device = owner->dl_tensor.device;
  return {static_cast<int>(device.device_type), device.device_id};
}

DeviceTensor DeviceTensor::rows(int64_t begin, int64_t end) const {
  if (extents.empty() || begin < 0 || end < begin || end > extents[0])
    refuse("rows out of range");
  DeviceTensor result = *this;
  result.extents[0] = 1;
  const int64_t row = countElements(result.extents) * owner->dl_tensor.dtype.bits / 8;
  result.extents[0] = end - begin;
  result.offset += static_cast<uint64_t>(row) * begin;
  return result;
}

DeviceTensor DeviceTensor::reshaped(std::vector<int64_t> shape) const {
  if (shape.size() > MPC_RT_MAX_RANK || countElements(shape) != countElements(extents))
    refuse("the shape has other elements than the tensor");
  DeviceTensor result = *this;
  result.extents = std::move(shape);
  return result;
}

DLManagedTensor DeviceTensor::view() const {
  DLManagedTensor result = {};
  result.dl_tensor = owner->dl_tensor;
  result.dl_tensor.ndim = static_cast<int32_t>(extents.size());
  result.dl_tensor.shape = const_cast<int64_t *>(extents.data());
  result.dl_tensor.strides = nullptr;
  result.dl_tensor.byte_offset = offset;
  return result;
}

} // namespace mpc::python
