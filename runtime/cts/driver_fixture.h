// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The conformance tests' parameter: one driver, with 1 or more threads.
#ifndef MPC_RUNTIME_CTS_DRIVER_FIXTURE_H
#define MPC_RUNTIME_CTS_DRIVER_FIXTURE_H

#include "runtime/cts/elements.h"
#include "runtime/cts/isa.h"
#include "runtime/drivers/driver.h"

#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>

namespace mpc::rt::cts {

struct DriverCase {
  const char *name;
  std::unique_ptr<Driver> (*make)(const DriverOptions &options);
  unsigned threads;
};

class DriverTest : public ::testing::TestWithParam<DriverCase> {
protected:
  DriverTest() : driver(GetParam().make({GetParam().threads, isa()})) {}
  void SetUp() override { ASSERT_NE(driver, nullptr) << mpc_rt_last_error(); }
  // "" when the result is right in one of the ways that the driver may round.
  template <typename Data> std::string differenceOf(const Data &data) const {
    std::string difference = data.difference();
    return driver->ownsMemory() && !difference.empty() ? data.difference(Roundings::once)
                                                       : difference;
  }
  std::unique_ptr<Driver> driver;
};

// The kernels are those of the library that MPC_CTS_CUDA_MODEL names: one with convolutions.
inline std::unique_ptr<Driver> makeCudaDriverForTests(const DriverOptions &options) {
  void *library = dlopen(std::getenv("MPC_CTS_CUDA_MODEL"), RTLD_NOW | RTLD_LOCAL);
  auto query =
      library ? reinterpret_cast<mpc_rt_cuda_query_fn>(dlsym(library, MPC_RT_CUDA_QUERY_SYMBOL))
              : nullptr;
  std::unique_ptr<Driver> driver;
  if (query)
    (void)makeCudaDriver(options, 0, *query(), driver);
  return driver;
}

inline std::vector<DriverCase> everyDriver() {
  std::vector<DriverCase> drivers = {{"null", makeNullDriver, 2},
                                     {"cpu1", makeCpuDriver, 1},
                                     {"cpu2", makeCpuDriver, 2},
                                     {"cpu5", makeCpuDriver, 5}};
  if (std::getenv("MPC_CTS_CUDA_MODEL"))
    drivers.push_back({"cuda", makeCudaDriverForTests, 1});
  return drivers;
}

inline std::string driverName(const ::testing::TestParamInfo<DriverCase> &info) {
  return info.param.name;
}

} // namespace mpc::rt::cts

#endif
