// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers in messages and logs.
#include "runtime/training/epoch_log.h"
#include "test/Unit/runtime/data/temporary_folder.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace mpc::training;

// Whether a NaN has a sign depends on the CPU and the compiler.
TEST(NumberText, NanHasNoSign) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (double value : {nan, std::copysign(nan, -1.0)}) {
    EXPECT_EQ(formatReal(value), "nan");
    EXPECT_EQ(formatShort(value), "nan");
  }
}

TEST(NumberText, RealsReadBackAsWritten) {
  for (double value : {0.1, -1e-300, 12345678.5, std::numeric_limits<double>::infinity()})
    EXPECT_EQ(std::stod(formatReal(value)), value);
}

TEST(EpochLog, AMetricCalledEpochLeavesTheNumber) {
  TemporaryFolder folder;
  const std::vector<Logs> history = {{{"loss", 2.5}, {"epoch", 0.5}}};
  EXPECT_EQ(jsonLine(3, history[0]), "{\"epoch\":3,\"loss\":2.5,\"metric:epoch\":0.5}");
  ASSERT_TRUE(CsvLog(folder.path("log.csv"), [](const std::string &) {}).historyChanged(history));
  EXPECT_EQ(TemporaryFolder::read(folder.path("log.csv")), "epoch,metric:epoch,loss\n0,0.5,2.5\n");
}
