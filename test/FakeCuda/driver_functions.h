// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The look-alikes of NVIDIA's other libraries have functions, and the lock of stream.h, from that
// of libcuda. With locks of their own they would take two in both orders, since they call the
// driver and the driver runs their work.
#ifndef MPC_TEST_FAKECUDA_DRIVER_FUNCTIONS_H
#define MPC_TEST_FAKECUDA_DRIVER_FUNCTIONS_H

#include "test/FakeCuda/stream.h"

#include <dlfcn.h>

namespace fake {

template <typename Function> Function findInDriver(const char *name) {
  return reinterpret_cast<Function>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), name));
}

} // namespace fake

#endif
