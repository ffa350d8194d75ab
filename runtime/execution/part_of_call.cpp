// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/execution/part_of_call.h"

#include "runtime/base/status.h"
#include "runtime/module/model.h"

#include <algorithm>

namespace mpc::rt {
namespace {

// The size with so many rows, which bind() has found in range.
uint64_t bytesOf(const mpc_rt_tensor_info_t &tensor, int64_t rows) {
  uint64_t bytes = 0;
  (void)batchBytes(tensor, rows, bytes);
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
  uint64_t unused = 0;
  auto isInRange = [&](const mpc_rt_tensor_info_t &tensor) {
    return batchBytes(tensor, first + used, unused);
  };
  if (!std::all_of(call.inputs, call.inputs + call.inputCount, isInRange) ||
      !std::all_of(call.outputs, call.outputs + call.outputCount, isInRange))
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: %lld rows overflow the size of a tensor", model,
                static_cast<long long>(first + used));
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
