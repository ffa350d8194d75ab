// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The software device with a stream, for tests of what it notices.
#ifndef MPC_TEST_FAKECUDA_OPEN_DEVICE_H
#define MPC_TEST_FAKECUDA_OPEN_DEVICE_H

#include "runtime/drivers/cuda/cuda_api.h"

#include <gtest/gtest.h>

namespace fake {

struct OpenDevice {
  OpenDevice() {
    const char *problem = nullptr;
    cuda = mpc::rt::cuda::api(problem);
    EXPECT_NE(cuda, nullptr) << problem;
    cuda->primaryContextRetain(&context, 0);
    cuda->contextSetCurrent(context);
    cuda->streamCreate(&stream, 0);
  }
  ~OpenDevice() {
    cuda->streamDestroy(stream);
    cuda->primaryContextRelease(0);
  }
  OpenDevice(const OpenDevice &) = delete;
  OpenDevice &operator=(const OpenDevice &) = delete;

  const mpc::rt::cuda::Api *cuda;
  mpc::rt::cuda::Context context = nullptr;
  mpc::rt::cuda::Stream stream = nullptr;
};

} // namespace fake

#endif
