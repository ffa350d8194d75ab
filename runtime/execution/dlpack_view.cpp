// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares what DLPack says about memory with what the runtime takes.
#include "runtime/execution/dlpack_view.h"
#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/execution/context.h"

#include <algorithm>

namespace mpc::rt {
namespace {

uint8_t codeOf(mpc_rt_dtype_t dtype) {
  switch (dtype) {
  case MPC_RT_BOOL:
    return kDLBool;
  case MPC_RT_BFLOAT16:
    return kDLBfloat;
  case MPC_RT_FLOAT16:
  case MPC_RT_FLOAT32:
  case MPC_RT_FLOAT64:
    return kDLFloat;
  case MPC_RT_UINT8:
  case MPC_RT_UINT16:
  case MPC_RT_UINT32:
  case MPC_RT_UINT64:
    return kDLUInt;
  default:
    return kDLInt;
  }
}

uint8_t bitsOf(mpc_rt_dtype_t dtype) { return static_cast<uint8_t>(8 * dtypeSize(dtype)); }

bool findDtype(const DLDataType &type, mpc_rt_dtype_t &dtype) {
  for (dtype = 0; isKnown(dtype); ++dtype)
    if (type.lanes == 1 && type.code == codeOf(dtype) && type.bits == bitsOf(dtype))
      return true;
  return false;
}

// Strides of extents below 2 mean nothing, and of a tensor without elements none does.
bool isDense(const DLTensor &tensor, uint64_t elements) {
  if (!tensor.strides || elements == 0)
    return true;
  int64_t expected = 1;
  for (int32_t i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected)
      return false;
    expected *= tensor.shape[i];
  }
  return true;
}

mpc_rt_status_t checkDevice(const DLDevice &device, const char *where, int cudaOrdinal,
                            bool &onDevice) {
  const int type = static_cast<int>(device.device_type);
  onDevice = type == kDLCUDA;
  if (type == kDLCPU || type == kDLCUDAHost || type == kDLCUDAManaged)
    return MPC_RT_OK;
  if (onDevice && cudaOrdinal >= 0 && device.device_id == cudaOrdinal)
    return MPC_RT_OK;
  if (cudaOrdinal >= 0)
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: is on DLPack's device %d:%d; expected the host (1) or the context's GPU "
                "(2:%d); copy it there first",
                where, type, device.device_id, cudaOrdinal);
  return fail(MPC_RT_INVALID_ARGUMENT,
              "%s: is on DLPack's device %d:%d; expected memory of the host (1); copy it there "
              "first",
              where, type, device.device_id);
}

struct GivenTensor {
  DLManagedTensor tensor;
  int64_t shape[MPC_RT_MAX_RANK], strides[MPC_RT_MAX_RANK];
  Buffer memory;
  mpc_rt_context_t *context;
};

void releaseGiven(DLManagedTensor *tensor) {
  auto *given = static_cast<GivenTensor *>(tensor->manager_ctx);
  mpc_rt_context_t *context = given->context;
  delete given; // its memory may be of the context's allocator
  mpc_rt_context_release(context);
}

} // namespace

mpc_rt_status_t viewTensor(const DLManagedTensor *managed, const char *where, int cudaOrdinal,
                           mpc_rt_buffer_t &view, bool &onDevice) {
  if (!managed)
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: the tensor is null", where);
  const DLTensor &tensor = managed->dl_tensor;
  if (tensor.ndim < 0 || tensor.ndim > MPC_RT_MAX_RANK || (tensor.ndim && !tensor.shape))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: has %d dimensions%s; expected 0 to %d, and the array of extents", where,
                tensor.ndim, tensor.shape ? "" : " and no extents", MPC_RT_MAX_RANK);
  if (auto status = checkDevice(tensor.device, where, cudaOrdinal, onDevice))
    return status;
  if (!findDtype(tensor.dtype, view.dtype))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: has DLPack's type code %u with %u bits and %u lanes; expected a dtype of "
                "Keras with one lane",
                where, tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes);
  view.rank = static_cast<uint32_t>(tensor.ndim);
  std::copy_n(tensor.shape, tensor.ndim, view.dims);
  uint64_t elements = 0;
  if (!countElements(view.dims, view.rank, elements) || elements > (uint64_t{1} << 44))
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: has a negative extent or too many elements", where);
  if (!isDense(tensor, elements))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: has strides; expected dense, row-major memory; make it contiguous first",
                where);
  if (!tensor.data && elements)
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: its data is null", where);
  view.data = tensor.data ? static_cast<uint8_t *>(tensor.data) + tensor.byte_offset : nullptr;
  if (reinterpret_cast<uintptr_t>(view.data) % dtypeSize(view.dtype) && elements)
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: its data is not aligned to its %zu-byte elements; copy it first", where,
                dtypeSize(view.dtype));
  return MPC_RT_OK;
}

DLManagedTensor *makeTensor(const mpc_rt_buffer_t &view, Buffer memory, mpc_rt_context_t *context) {
  auto *given = new GivenTensor{};
  int64_t stride = 1;
  for (uint32_t i = view.rank; i-- > 0;) {
    given->shape[i] = view.dims[i];
    given->strides[i] = stride;
    stride *= view.dims[i];
  }
  given->memory = std::move(memory);
  given->context = context ? retain(context) : nullptr;
  DLTensor &tensor = given->tensor.dl_tensor;
  tensor.data = stride ? view.data : nullptr;
  tensor.device = {kDLCPU, 0};
  tensor.ndim = static_cast<int32_t>(view.rank);
  tensor.dtype = {codeOf(view.dtype), bitsOf(view.dtype), 1};
  tensor.shape = given->shape;
  tensor.strides = given->strides;
  given->tensor.manager_ctx = given;
  given->tensor.deleter = releaseGiven;
  return &given->tensor;
}

} // namespace mpc::rt
