// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One GPU as one context uses it: the device's primary context, a stream, memory.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_DEVICE_SESSION_H
#define MPC_RUNTIME_DRIVERS_CUDA_DEVICE_SESSION_H

#include "runtime/drivers/cuda/cuda_status.h"

#include <memory>

namespace mpc::rt::cuda {

class DeviceSession {
public:
  static mpc_rt_status_t open(int ordinal, std::unique_ptr<DeviceSession> &session);
  ~DeviceSession();
  DeviceSession(const DeviceSession &) = delete;
  DeviceSession &operator=(const DeviceSession &) = delete;

  // Every function below belongs to the thread that called this last.
  mpc_rt_status_t makeCurrent() { return check(cuda.contextSetCurrent(context), "GPU"); }
  // Bytes of the device that nobody has taken; none where the driver does not say.
  uint64_t freeBytes() const {
    size_t available = 0, all = 0;
    return cuda.memGetInfo(&available, &all) ? 0 : available;
  }
  mpc_rt_status_t synchronize() { return check(cuda.streamSynchronize(stream), "GPU"); }
  mpc_rt_status_t check(Result result, const char *what) const noexcept {
    return mpc::rt::cuda::check(cuda, result, what);
  }

  const Api &cuda;
  Stream stream = nullptr;
  int multiprocessors = 1;
  int architecture = 0; // 90: compute capability 9.0
  char name[128] = "";

private:
  DeviceSession(const Api &cuda, Device device) : cuda(cuda), device(device) {}
  Device device;
  Context context = nullptr;
};

// Device or pinned host memory of a session.
class Memory {
public:
  enum class Kind { device, pinned };
  Memory(DeviceSession &session, Kind kind) : session(session), kind(kind) {}
  ~Memory() { release(); }
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  // At least `bytes`; the content is undefined. `grew` tells whether the address is a new one.
  mpc_rt_status_t reserve(uint64_t bytes, const char *what, bool &grew);
  uint8_t *data() const { return pointer; }
  DevicePointer address() const { return reinterpret_cast<DevicePointer>(pointer); }
  uint64_t size() const { return bytes; }

private:
  void release() noexcept;
  DeviceSession &session;
  Kind kind;
  uint8_t *pointer = nullptr;
  uint64_t bytes = 0;
};

} // namespace mpc::rt::cuda

#endif
