// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// BackgroundTask: a thread that does one thing after the other beside the training.
#ifndef MPC_RUNTIME_REPORTS_BACKGROUND_TASK_H
#define MPC_RUNTIME_REPORTS_BACKGROUND_TASK_H

#include "runtime/data/result.h"

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace mpc::reports {

/// The thread is made once: making one for each step takes a good part of what it does there.
class BackgroundTask {
public:
  BackgroundTask() = default;
  /// Waits for what was started.
  ~BackgroundTask();
  BackgroundTask(const BackgroundTask &) = delete;
  BackgroundTask &operator=(const BackgroundTask &) = delete;

  /// The task before has been waited for. Without a thread of the system it runs here.
  void start(std::function<data::Status()> task);
  /// Waits. Says what the last task returned or threw, once; then success.
  data::Status wait();

private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<data::Status()> task_; ///< until it is done
  data::Status result_;
  std::exception_ptr exception_;
  bool ends_ = false;
  std::thread thread_;
};

} // namespace mpc::reports
#endif
