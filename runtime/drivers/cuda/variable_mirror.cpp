// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies between the two sides wait for the stream: they stand between runs, never inside one.
#include "runtime/drivers/cuda/variable_mirror.h"

namespace mpc::rt::cuda {

mpc_rt_status_t VariableMirror::bind(uint8_t *memory, uint64_t bytes,
                                     const std::vector<MemoryBlock> &parts) {
  bool grew = false;
  if (auto status = device.reserve(bytes, "the model's variables", grew))
    return status;
  host = memory;
  blocks.clear();
  for (const MemoryBlock &part : parts)
    blocks.push_back({part.offset, part.bytes, false});
  return store(0, bytes);
}

mpc_rt_status_t VariableMirror::fetch(uint64_t offset, uint64_t bytes) {
  bool copied = false;
  for (Block &block : blocks) {
    if (!block.onlyDevice || block.offset + block.bytes <= offset || offset + bytes <= block.offset)
      continue;
    if (!copied)
      if (auto status = session.makeCurrent())
        return status;
    if (auto status = session.check(session.cuda.memcpyToHost(host + block.offset,
                                                              device.address() + block.offset,
                                                              block.bytes, session.stream),
                                    "reading variables from the GPU"))
      return status;
    block.onlyDevice = false;
    copied = true;
  }
  return copied ? session.synchronize() : MPC_RT_OK;
}

mpc_rt_status_t VariableMirror::store(uint64_t offset, uint64_t bytes) {
  if (bytes == 0)
    return MPC_RT_OK;
  if (auto status = session.makeCurrent())
    return status;
  if (auto status = session.check(session.cuda.memcpyToDevice(device.address() + offset,
                                                              host + offset, bytes, session.stream),
                                  "writing variables to the GPU"))
    return status;
  return session.synchronize();
}

mpc_rt_status_t VariableMirror::storeAll() {
  for (const Block &block : blocks)
    if (!block.onlyDevice)
      if (auto status = store(block.offset, block.bytes))
        return status;
  return MPC_RT_OK;
}

void VariableMirror::deviceChanged() {
  for (Block &block : blocks)
    block.onlyDevice = true;
}

} // namespace mpc::rt::cuda
