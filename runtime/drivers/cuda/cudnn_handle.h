// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuDNN for one session, opened when it is first wanted: the library is large.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_CUDNN_HANDLE_H
#define MPC_RUNTIME_DRIVERS_CUDA_CUDNN_HANDLE_H

#include "runtime/drivers/cuda/cudnn_api.h"
#include "runtime/drivers/cuda/device_session.h"

namespace mpc::rt::cuda::dnn {

class SessionHandle {
public:
  explicit SessionHandle(DeviceSession &session) : session(session) {}
  ~SessionHandle();
  SessionHandle(const SessionHandle &) = delete;
  SessionHandle &operator=(const SessionHandle &) = delete;

  // False when there is no cuDNN, or it is not to be used (MPC_CUDNN=off).
  bool open();
  // The functions of an open one.
  const Api &library() const { return *functions; }
  Handle get() const { return handle; }
  // Waits until no plan of this handle runs: before plans are destroyed.
  void drain();

private:
  DeviceSession &session;
  const Api *functions = nullptr;
  Handle handle = nullptr;
  bool wasOpened = false;
};

} // namespace mpc::rt::cuda::dnn

#endif
