// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The software device with a stream, for tests of what it notices.
#ifndef MPC_TEST_FAKECUDA_OPEN_DEVICE_H
#define MPC_TEST_FAKECUDA_OPEN_DEVICE_H

#include "runtime/drivers/cuda/cublaslt_api.h"
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

// With cuBLASLt, and 4096 bytes of zeros for its operands.
struct OpenBlas : OpenDevice {
  OpenBlas() {
    const char *problem = nullptr;
    lt = mpc::rt::cuda::lt::api(problem);
    EXPECT_NE(lt, nullptr) << problem;
    lt->create(&handle);
    lt->preferenceCreate(&preference);
    EXPECT_EQ(cuda->memAlloc(&memory, 4096), 0);
    cuda->memsetBytes(memory, 0, 4096, stream);
  }
  ~OpenBlas() {
    lt->preferenceDestroy(preference);
    lt->destroy(handle);
    cuda->memFree(memory);
  }

  const mpc::rt::cuda::lt::Api *lt;
  mpc::rt::cuda::lt::Handle handle = nullptr;
  mpc::rt::cuda::lt::Preference preference = nullptr;
  mpc::rt::cuda::DevicePointer memory = 0;
};

} // namespace fake

#endif
