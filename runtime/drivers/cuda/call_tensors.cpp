// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cuda/call_tensors.h"
#include "runtime/base/dtype.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt::cuda {
namespace {

uint64_t bytesOf(const mpc_rt_tensor_info_t &tensor, int64_t batch) {
  uint64_t bytes = dtypeSize(tensor.dtype);
  for (uint32_t i = 0; i < tensor.rank; ++i)
    bytes *= static_cast<uint64_t>(tensor.dims[i] == MPC_RT_DYNAMIC ? batch : tensor.dims[i]);
  return bytes;
}

bool isOnDevice(const std::vector<bool> *onDevice, size_t i) { return onDevice && (*onDevice)[i]; }

// Calls `alone(i)` for each tensor on the device, and `together(begin, end)` for neighbours on the
// host, which go in one copy.
template <typename Alone, typename Together>
mpc_rt_status_t forTensors(size_t count, const std::vector<bool> *onDevice, Alone alone,
                           Together together) {
  mpc_rt_status_t status = MPC_RT_OK;
  for (size_t i = 0, end; i < count && !status; i = end) {
    end = i + 1;
    if (isOnDevice(onDevice, i)) {
      status = alone(i);
      continue;
    }
    while (end < count && !isOnDevice(onDevice, end))
      ++end;
    status = together(i, end);
  }
  return status;
}

} // namespace

CallTensors::Layout CallTensors::layOut(const mpc_rt_entry_info_t &entry, int64_t batch) {
  Layout layout;
  auto add = [&](const mpc_rt_tensor_info_t &tensor) {
    layout.offsets.push_back(layout.bytes);
    layout.sizes.push_back(bytesOf(tensor, batch));
    layout.bytes = alignUp(layout.bytes + layout.sizes.back(), alignment);
  };
  for (uint32_t i = 0; i < entry.input_count; ++i)
    add(entry.inputs[i]);
  layout.inputBytes = layout.bytes;
  for (uint32_t i = 0; i < entry.output_count; ++i)
    add(entry.outputs[i]);
  return layout;
}

mpc_rt_status_t CallTensors::reserve(const Layout &layout, bool &moved) {
  bool stagingMoved = false;
  if (auto status = tensors.reserve(layout.bytes, "inputs and outputs", moved))
    return status;
  return staging.reserve(layout.bytes, "pinned memory", stagingMoved);
}

mpc_rt_status_t CallTensors::copyInputs(const mpc_rt_entry_info_t &entry, const mpc_rt_call_t &call,
                                        const Layout &layout, const DeviceTensors *onDevice) {
  auto copyAlone = [&](size_t i) -> mpc_rt_status_t {
    if (!layout.sizes[i])
      return MPC_RT_OK;
    return session.check(
        session.cuda.memcpyOnDevice(address() + layout.offsets[i],
                                    reinterpret_cast<DevicePointer>(call.inputs[i]),
                                    layout.sizes[i], session.stream),
        entry.inputs[i].name);
  };
  auto copyTogether = [&](size_t begin, size_t end) -> mpc_rt_status_t {
    for (size_t i = begin; i < end; ++i)
      if (layout.sizes[i])
        std::memcpy(staging.data() + layout.offsets[i], call.inputs[i], layout.sizes[i]);
    const uint64_t first = layout.offsets[begin];
    const uint64_t bytes = layout.offsets[end - 1] + layout.sizes[end - 1] - first;
    return bytes ? session.check(session.cuda.memcpyToDevice(address() + first,
                                                             staging.data() + first, bytes,
                                                             session.stream),
                                 entry.name)
                 : MPC_RT_OK;
  };
  return forTensors(entry.input_count, onDevice ? &onDevice->inputs : nullptr, copyAlone,
                    copyTogether);
}

mpc_rt_status_t CallTensors::copyOutputs(const mpc_rt_entry_info_t &entry,
                                         const mpc_rt_call_t &call, const Layout &layout,
                                         const DeviceTensors *onDevice) {
  const uint64_t *offsets = layout.offsets.data() + entry.input_count;
  const uint64_t *sizes = layout.sizes.data() + entry.input_count;
  auto copyAlone = [&](size_t i) -> mpc_rt_status_t {
    if (!sizes[i])
      return MPC_RT_OK;
    return session.check(
        session.cuda.memcpyOnDevice(reinterpret_cast<DevicePointer>(call.outputs[i]),
                                    address() + offsets[i], sizes[i], session.stream),
        entry.outputs[i].name);
  };
  auto copyTogether = [&](size_t begin, size_t end) -> mpc_rt_status_t {
    const uint64_t first = offsets[begin], bytes = offsets[end - 1] + sizes[end - 1] - first;
    return bytes
               ? session.check(session.cuda.memcpyToHost(staging.data() + first, address() + first,
                                                         bytes, session.stream),
                               entry.name)
               : MPC_RT_OK;
  };
  return forTensors(entry.output_count, onDevice ? &onDevice->outputs : nullptr, copyAlone,
                    copyTogether);
}

void CallTensors::deliverOutputs(const mpc_rt_entry_info_t &entry, const mpc_rt_call_t &call,
                                 const Layout &layout, const DeviceTensors *onDevice) const {
  for (uint32_t i = 0; i < entry.output_count; ++i) {
    const size_t at = entry.input_count + i;
    if (layout.sizes[at] && !isOnDevice(onDevice ? &onDevice->outputs : nullptr, i))
      std::memcpy(call.outputs[i], staging.data() + layout.offsets[at], layout.sizes[at]);
  }
}

} // namespace mpc::rt::cuda
