// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A task beside the training ends, and says how.
#include "runtime/reports/background_task.h"

#include <atomic>
#include <gtest/gtest.h>
#include <stdexcept>

using mpc::data::Failure;
using mpc::data::Status;
using mpc::reports::BackgroundTask;

TEST(BackgroundTask, SaysWhatTheLastOneReturnedOnce) {
  BackgroundTask task;
  EXPECT_TRUE(task.wait()); // nothing was started
  int runs = 0;
  for (int i = 0; i < 100; ++i) {
    task.start([&runs] { return ++runs % 2 ? Status() : Status(Failure("even")); });
    const Status status = task.wait();
    ASSERT_EQ(static_cast<bool>(status), i % 2 == 0);
    EXPECT_TRUE(task.wait());
  }
  EXPECT_EQ(runs, 100);
}

TEST(BackgroundTask, ThrowsWhereItIsWaitedFor) {
  BackgroundTask task;
  task.start([]() -> Status { throw std::runtime_error("thrown"); });
  EXPECT_THROW((void)task.wait(), std::runtime_error);
  EXPECT_TRUE(task.wait());
}

TEST(BackgroundTask, EndsWhatWasStarted) {
  std::atomic<bool> done = false;
  {
    BackgroundTask task;
    task.start([&done] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      done = true;
      return Status();
    });
  }
  EXPECT_TRUE(done);
}
