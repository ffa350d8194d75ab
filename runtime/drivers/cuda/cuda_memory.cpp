// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cuda/cuda_memory.h"
#include "runtime/drivers/cuda/call_tensors.h"

#include <utility>

namespace mpc::rt::cuda {

mpc_rt_status_t CudaMemory::bindVariables(uint8_t *host, uint64_t bytes,
                                          const std::vector<MemoryBlock> &blocks) {
  graphs.forget();
  prepared.variablesChanged();
  return variables.bind(host, bytes, blocks);
}

mpc_rt_status_t CudaMemory::fetchVariables(uint64_t offset, uint64_t bytes) {
  return variables.fetch(offset, bytes);
}

mpc_rt_status_t CudaMemory::storeVariables(uint64_t offset, uint64_t bytes) {
  prepared.variablesChanged();
  return variables.store(offset, bytes);
}

mpc_rt_status_t CudaMemory::storeFetchedVariables() {
  prepared.variablesChanged();
  return variables.storeAll();
}

mpc_rt_status_t CudaMemory::prefetch(const mpc_rt_entry_info_t &entry, int64_t batch,
                                     mpc_rt_fill_inputs_fn fill, void *user) {
  CallTensors::Layout layout = CallTensors::layOut(entry, batch);
  layout.offsets.resize(entry.input_count);
  nextInputs.request({&entry, batch, std::move(layout.offsets), layout.inputBytes, fill, user});
  return MPC_RT_OK;
}

bool CudaMemory::hasInputs(const mpc_rt_entry_info_t &entry, int64_t batch) const noexcept {
  return nextInputs.has(entry, batch);
}

mpc_rt_status_t CudaMemory::clear(void *data, uint64_t bytes) {
  if (auto status = table.flush())
    return status;
  return session.check(
      session.cuda.memsetBytes(reinterpret_cast<DevicePointer>(data), 0, bytes, session.stream),
      "zeros");
}

mpc_rt_status_t CudaMemory::bring(void *to, const void *from, uint64_t bytes) {
  if (auto status = table.flush())
    return status;
  return session.check(
      session.cuda.memcpyToHost(to, reinterpret_cast<DevicePointer>(from), bytes, session.stream),
      "reading values in the middle of a step");
}

mpc_rt_status_t CudaMemory::give(void *to, const void *from, uint64_t bytes) {
  if (auto status = table.flush())
    return status;
  return session.check(
      session.cuda.memcpyToDevice(reinterpret_cast<DevicePointer>(to), from, bytes, session.stream),
      "writing what ranks have reduced");
}

mpc_rt_status_t CudaMemory::copyToHost(void *to, const void *from, uint64_t bytes) {
  if (auto status = session.makeCurrent())
    return status;
  if (auto status = waitForCaller())
    return status;
  auto status = session.check(
      session.cuda.memcpyToHost(to, reinterpret_cast<DevicePointer>(from), bytes, session.stream),
      "reading a tensor of the caller");
  return status ? status : session.synchronize();
}

mpc_rt_status_t CudaMemory::waitForCaller() {
  return session.check(session.cuda.streamSynchronize(nullptr), "the default stream");
}

} // namespace mpc::rt::cuda
