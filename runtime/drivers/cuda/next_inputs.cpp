// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cuda/next_inputs.h"

namespace mpc::rt::cuda {

NextInputs::~NextInputs() {
  if (!stream)
    return;
  session.makeCurrent();
  session.cuda.streamSynchronize(stream);
  session.cuda.streamDestroy(stream);
}

void NextInputs::request(InputRequest request) {
  wanted = std::move(request);
  requested = true;
}

bool NextInputs::has(const mpc_rt_entry_info_t &entry, int64_t batch) const {
  return fetched && held.entry == &entry && held.batch == batch;
}

mpc_rt_status_t NextInputs::fetch() {
  held = std::move(wanted);
  requested = fetched = false;
  const char *what = held.entry->name;
  if (!stream)
    if (auto status = session.check(session.cuda.streamCreate(&stream, streamNonBlocking), what))
      return status;
  // Inputs that nobody took may still be on their way from the pinned memory.
  if (auto status = session.check(session.cuda.streamSynchronize(stream), what))
    return status;
  turn = 1 - turn;
  bool moved = false;
  if (auto status = staging.reserve(held.bytes, "pinned memory", moved))
    return status;
  if (auto status = buffers[turn].reserve(held.bytes, "the next inputs", moved))
    return status;
  std::vector<void *> to;
  for (uint64_t offset : held.offsets)
    to.push_back(staging.data() + offset);
  held.fill(held.user, to.data());
  if (held.bytes)
    if (auto status = session.check(session.cuda.memcpyToDevice(buffers[turn].address(),
                                                                staging.data(), held.bytes, stream),
                                    what))
      return status;
  fetched = true;
  return MPC_RT_OK;
}

mpc_rt_status_t NextInputs::take(DevicePointer to) {
  fetched = false;
  const char *what = held.entry->name;
  if (auto status = session.check(session.cuda.streamSynchronize(stream), what))
    return status;
  return held.bytes ? session.check(session.cuda.memcpyOnDevice(to, buffers[turn].address(),
                                                                held.bytes, session.stream),
                                    what)
                    : MPC_RT_OK;
}

} // namespace mpc::rt::cuda
