// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entry is called "evaluate", after which a driver takes no variable on the host for current.
#include "runtime/cts/device_call.h"

#include <cstring>

namespace mpc::rt::cts {
namespace {

using Body = std::function<mpc_rt_status_t(void *const *)>;

int32_t runBody(const mpc_rt_call_t *call) {
  return (*static_cast<const Body *>(call->context))(call->variables);
}

} // namespace

mpc_rt_status_t callOnDevice(Driver &driver, WeightUse use,
                             std::vector<std::vector<uint8_t> *> parts, const Body &body) {
  std::vector<void *> addresses;
  if (auto status = driver.begin(use))
    return status;
  if (!driver.ownsMemory()) {
    for (auto *part : parts)
      addresses.push_back(part->data());
    auto status = body(addresses.data());
    driver.end();
    return status;
  }
  std::vector<MemoryBlock> blocks;
  uint64_t bytes = 0;
  for (auto *part : parts) {
    blocks.push_back({bytes, part->size()});
    bytes = alignUp(bytes + part->size() + 1, 256);
  }
  std::vector<uint8_t> host(bytes);
  for (size_t i = 0; i < parts.size(); ++i) {
    addresses.push_back(host.data() + blocks[i].offset);
    if (!parts[i]->empty())
      std::memcpy(addresses[i], parts[i]->data(), parts[i]->size());
  }
  auto status = driver.deviceMemory().bindVariables(host.data(), bytes, blocks);
  mpc_rt_entry_info_t entry = {};
  entry.name = "evaluate";
  entry.fn = runBody;
  mpc_rt_call_t call = {};
  call.struct_size = sizeof call;
  call.batch = 1;
  call.variables = addresses.data();
  call.context = const_cast<Body *>(&body);
  status = status ? status
                  : driver.run(entry, call, static_cast<uint32_t>(parts.size()), 64,
                               /*onDevice=*/nullptr);
  driver.end();
  if (!status)
    status = driver.deviceMemory().fetchVariables(0, bytes);
  for (size_t i = 0; !status && i < parts.size(); ++i)
    if (!parts[i]->empty())
      std::memcpy(parts[i]->data(), addresses[i], parts[i]->size());
  return status;
}

} // namespace mpc::rt::cts
