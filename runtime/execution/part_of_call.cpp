// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/execution/part_of_call.h"

#include "runtime/base/dtype.h"
#include "runtime/base/status.h"

#include <algorithm>

namespace mpc::rt {
namespace {

bool hasRows(const mpc_rt_tensor_info_t &tensor) {
  return tensor.rank && tensor.dims[0] == MPC_RT_DYNAMIC;
}

// The size with so many rows; checkTables has passed the tensor.
uint64_t bytesOf(const mpc_rt_tensor_info_t &tensor, int64_t rows) {
  uint64_t bytes = dtypeSize(tensor.dtype);
  for (uint32_t d = 0; d < tensor.rank; ++d)
    bytes *= static_cast<uint64_t>(tensor.dims[d] == MPC_RT_DYNAMIC ? rows : tensor.dims[d]);
  return bytes;
}

uint64_t offsetOf(const mpc_rt_tensor_info_t &tensor, int64_t row) {
  return hasRows(tensor) ? bytesOf(tensor, row) : 0;
}

} // namespace

mpc_rt_status_t PartOfCall::bind(const char *model, const CallTensors &call, int64_t first,
                                 int64_t count, bool takesRest) {
  empty = count == 0;
  used = empty ? 1 : count;
  uint64_t largest = 0, others = 0;
  for (uint32_t i = 0; i < call.inputCount; ++i)
    largest = std::max(largest, bytesOf(call.inputs[i], 1));
  for (uint32_t i = 0; i < call.outputCount; ++i)
    others += alignUp(bytesOf(call.outputs[i], used));
  if (empty && !zeros.reserve(largest))
    return failToAllocate(model, largest, zeros.problem());
  if (!unwanted.reserve(others))
    return failToAllocate(model, others, unwanted.problem());
  from.clear();
  to.clear();
  for (uint32_t i = 0; i < call.inputCount; ++i) {
    const mpc_rt_tensor_info_t &tensor = call.inputs[i];
    const bool isZero = empty && hasRows(tensor);
    from.push_back(isZero ? zeros.data()
                          : static_cast<const uint8_t *>(call.from[i]) + offsetOf(tensor, first));
  }
  uint8_t *rest = unwanted.data();
  for (uint32_t i = 0; i < call.outputCount; ++i) {
    const mpc_rt_tensor_info_t &tensor = call.outputs[i];
    const bool isWanted = call.to && (hasRows(tensor) ? !empty : takesRest);
    to.push_back(isWanted ? static_cast<uint8_t *>(call.to[i]) + offsetOf(tensor, first) : rest);
    rest += alignUp(bytesOf(tensor, used));
  }
  return MPC_RT_OK;
}

} // namespace mpc::rt
