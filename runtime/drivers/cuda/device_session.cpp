// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opening a GPU; memory that goes when its owner goes.
#include "runtime/drivers/cuda/device_session.h"

namespace mpc::rt::cuda {

mpc_rt_status_t DeviceSession::open(int ordinal, std::unique_ptr<DeviceSession> &session) {
  const char *problem = nullptr;
  const Api *cuda = api(problem);
  if (!cuda)
    return fail(MPC_RT_UNAVAILABLE, "cuda:%d: %s", ordinal, problem);
  int count = 0;
  if (auto status = cuda::check(*cuda, cuda->deviceGetCount(&count), "GPU"))
    return status;
  if (ordinal < 0 || ordinal >= count)
    return fail(MPC_RT_NOT_FOUND, "cuda:%d: this machine has %d GPU%s; the first one is cuda:0",
                ordinal, count, count == 1 ? "" : "s");
  Device device = 0;
  if (auto status = cuda::check(*cuda, cuda->deviceGet(&device, ordinal), "GPU"))
    return status;
  std::unique_ptr<DeviceSession> made(new DeviceSession(*cuda, device));
  if (auto status =
          made->check(cuda->primaryContextRetain(&made->context, device), "opening the GPU"))
    return status;
  if (auto status = made->makeCurrent())
    return status;
  int major = 0, minor = 0;
  cuda->deviceGetAttribute(&major, computeCapabilityMajor, device);
  cuda->deviceGetAttribute(&minor, computeCapabilityMinor, device);
  cuda->deviceGetAttribute(&made->multiprocessors, multiprocessorCount, device);
  made->architecture = major * 10 + minor;
  cuda->deviceGetName(made->name, sizeof made->name, device);
  if (auto status = made->check(cuda->streamCreate(&made->stream, streamNonBlocking), "a stream"))
    return status;
  session = std::move(made);
  return MPC_RT_OK;
}

DeviceSession::~DeviceSession() {
  if (!context)
    return;
  cuda.contextSetCurrent(context);
  if (stream)
    cuda.streamDestroy(stream);
  cuda.primaryContextRelease(device);
}

mpc_rt_status_t Memory::reserve(uint64_t wanted, const char *what, bool &grew) {
  grew = false;
  if (wanted <= bytes && pointer)
    return MPC_RT_OK;
  release();
  // A fresh address even for nothing: null would be no operand.
  uint64_t rounded = wanted < 256 ? 256 : wanted;
  if (rounded > UINT64_MAX / 2)
    return failOutOfMemory(what, wanted);
  if (kind == Kind::device) {
    DevicePointer address = 0;
    if (auto status = session.check(session.cuda.memAlloc(&address, rounded), what))
      return status;
    pointer = reinterpret_cast<uint8_t *>(address);
  } else {
    void *address = nullptr;
    if (auto status = session.check(session.cuda.memAllocHost(&address, rounded), what))
      return status;
    pointer = static_cast<uint8_t *>(address);
  }
  bytes = rounded;
  grew = true;
  return MPC_RT_OK;
}

void Memory::release() noexcept {
  if (!pointer)
    return;
  session.makeCurrent();
  // A kernel that is still running may use the memory.
  session.cuda.streamSynchronize(session.stream);
  if (kind == Kind::device)
    session.cuda.memFree(address());
  else
    session.cuda.memFreeHost(pointer);
  pointer = nullptr;
  bytes = 0;
}

} // namespace mpc::rt::cuda
