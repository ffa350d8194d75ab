// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The conformance tests' parameter: one driver, with 1 or more threads.
#ifndef MPC_RUNTIME_CTS_DRIVER_FIXTURE_H
#define MPC_RUNTIME_CTS_DRIVER_FIXTURE_H

#include "runtime/base/cpu.h"
#include "runtime/drivers/driver.h"

#include <gtest/gtest.h>

namespace mpc::rt::cts {

struct DriverCase {
  const char *name;
  std::unique_ptr<Driver> (*make)(const DriverOptions &options);
  unsigned threads;
};

class DriverTest : public ::testing::TestWithParam<DriverCase> {
protected:
  DriverTest() : driver(GetParam().make({GetParam().threads, cpu().isa})) {}
  std::unique_ptr<Driver> driver;
};

inline std::vector<DriverCase> everyDriver() {
  return {{"null", makeNullDriver, 2},
          {"cpu1", makeCpuDriver, 1},
          {"cpu2", makeCpuDriver, 2},
          {"cpu5", makeCpuDriver, 5}};
}

inline std::string driverName(const ::testing::TestParamInfo<DriverCase> &info) {
  return info.param.name;
}

} // namespace mpc::rt::cts

#endif
