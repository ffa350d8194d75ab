// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/execution/traced_elements.h"
#include "runtime/base/dtype.h"

namespace mpc::rt {

mpc_rt_status_t TracedElements::bring(const mpc_rt_trace_t &descriptor, mpc_rt_trace_call_t &call) {
  const uint64_t count =
      static_cast<uint64_t>(descriptor.count.fixed) +
      static_cast<uint64_t>(descriptor.count.per_sample) * static_cast<uint64_t>(call.batch);
  auto bringTo = [&](Buffer &room, const void *&address, mpc_rt_dtype_t dtype) -> mpc_rt_status_t {
    if (!address || count == 0)
      return MPC_RT_OK;
    const uint64_t bytes = count * dtypeSize(dtype);
    reserve(room, bytes);
    if (auto status = memory.bring(room.data(), address, bytes))
      return status;
    address = room.data();
    return MPC_RT_OK;
  };
  if (auto status = bringTo(value, call.value, descriptor.dtype))
    return status;
  if (auto status = bringTo(before, call.before, descriptor.before_dtype))
    return status;
  return memory.arrive();
}

} // namespace mpc::rt
