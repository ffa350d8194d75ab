// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/FakeCuda/driver_functions.h"

namespace fake {

std::recursive_mutex &OneAtATime::mutex() {
  static std::recursive_mutex alone; // with a libcuda that runs nothing (plan_driver.c)
  static auto find = findInDriver<decltype(&mpc_fake_mutex)>("mpc_fake_mutex");
  return find ? *find() : alone;
}

} // namespace fake
