// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Array storage and the element type table.
#include "runtime/data/array.h"

#include "runtime/base/out_of_memory.h"

#include <cstdlib>
#include <cstring>
#include <optional>

namespace mpc::data {

static const DtypeInfo table[] = {
#define MPC_RT_DTYPE(name, value, bytes, keras, mlir, safetensors, numpy)                          \
  {value, bytes, keras, safetensors, numpy},
#include "mpc-rt/dtype.inc"
#undef MPC_RT_DTYPE
};

const DtypeInfo *dtypeInfo(mpc_rt_dtype_t dtype) {
  for (const DtypeInfo &row : table)
    if (row.dtype == dtype)
      return &row;
  return nullptr;
}

const DtypeInfo *dtypeFromKeras(const std::string &name) {
  for (const DtypeInfo &row : table)
    if (name == row.keras)
      return &row;
  return nullptr;
}

const DtypeInfo *dtypeFromSafetensors(const std::string &name) {
  for (const DtypeInfo &row : table)
    if (name == row.safetensors)
      return &row;
  return nullptr;
}

bool isFloating(mpc_rt_dtype_t dtype) {
  return dtype == MPC_RT_FLOAT32 || dtype == MPC_RT_BFLOAT16 || dtype == MPC_RT_FLOAT16 ||
         dtype == MPC_RT_FLOAT64;
}

std::optional<uint64_t> byteSize(const std::vector<int64_t> &dims, size_t bytesPerElement) {
  uint64_t size = bytesPerElement;
  bool empty = false;
  for (int64_t dim : dims) {
    if (dim < 0)
      return std::nullopt;
    if (dim == 0) {
      empty = true;
      continue;
    }
    if (__builtin_mul_overflow(size, static_cast<uint64_t>(dim), &size) ||
        size > static_cast<uint64_t>(INT64_MAX))
      return std::nullopt;
  }
  return empty ? 0 : size;
}

std::string formatShape(const std::vector<int64_t> &dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i)
    text += (i ? ", " : "") + (dims[i] < 0 ? std::string("batch") : std::to_string(dims[i]));
  return text + "]";
}

Result<Array> Array::allocate(mpc_rt_dtype_t dtype, std::vector<int64_t> dims) {
  const DtypeInfo *info = dtypeInfo(dtype);
  if (!info)
    return Failure("unknown element type " + std::to_string(dtype));
  std::optional<uint64_t> size = byteSize(dims, info->bytes);
  if (!size)
    return Failure("shape " + formatShape(dims) + " has more elements than memory can hold");
  // calloc hands out untouched zero pages, so a size that is never filled costs nothing.
  void *memory = std::calloc(1, *size ? *size : 1);
  if (!memory) {
    Failure failure("out of memory: " + std::to_string(*size) + " bytes wanted for shape " +
                    formatShape(dims));
    failure.memory = true;
    return failure;
  }
  Array array;
  array.dtype_ = dtype;
  array.dims_ = std::move(dims);
  array.bytes_ = *size;
  array.storage_.reset(static_cast<uint8_t *>(memory), std::free);
  return array;
}

Array Array::copyOf(mpc_rt_dtype_t dtype, std::vector<int64_t> dims, const void *data) {
  const std::optional<uint64_t> bytes = byteSize(dims, dtypeInfo(dtype)->bytes); // of the source
  Result<Array> array = allocate(dtype, std::move(dims));
  if (!array)
    throw rt::OutOfMemory(*bytes);
  if (array->bytes_)
    std::memcpy(array->data(), data, array->bytes_);
  return *array;
}

Array Array::scalar(float value) { return copyOf(MPC_RT_FLOAT32, {}, &value); }

Array Array::view(mpc_rt_dtype_t dtype, std::vector<int64_t> dims, uint64_t bytes,
                  const std::shared_ptr<void> &owner, uint8_t *data) {
  Array array;
  array.dtype_ = dtype;
  array.dims_ = std::move(dims);
  array.bytes_ = bytes;
  array.storage_ = std::shared_ptr<uint8_t>(owner, data);
  return array;
}

int64_t Array::elements() const {
  int64_t count = 1;
  for (int64_t dim : dims_)
    count *= dim;
  return count;
}

Array Array::reshaped(std::vector<int64_t> dims) const {
  Array copy = *this;
  copy.dims_ = std::move(dims);
  return copy;
}

} // namespace mpc::data
