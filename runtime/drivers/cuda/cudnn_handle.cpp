// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A handle on the session's stream.
#include "runtime/drivers/cuda/cudnn_handle.h"

#include <cstdlib>
#include <cstring>

namespace mpc::rt::cuda::dnn {

static bool isCudnnOff() {
  const char *choice = std::getenv("MPC_CUDNN");
  return choice && std::strcmp(choice, "off") == 0;
}

SessionHandle::~SessionHandle() {
  if (handle)
    functions->destroy(handle);
}

bool SessionHandle::open() {
  if (wasOpened)
    return handle;
  wasOpened = true;
  const char *problem = nullptr;
  functions = isCudnnOff() ? nullptr : api(problem);
  if (!functions || functions->create(&handle)) {
    handle = nullptr;
    return false;
  }
  if (functions->setStream(handle, session.stream)) {
    functions->destroy(handle);
    handle = nullptr;
  }
  return handle;
}

void SessionHandle::drain() {
  if (!handle)
    return;
  session.makeCurrent();
  session.cuda.streamSynchronize(session.stream);
}

} // namespace mpc::rt::cuda::dnn
