// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/reports/background_task.h"

#include <system_error>
#include <utility>

namespace mpc::reports {

using data::Status;

BackgroundTask::~BackgroundTask() {
  if (!thread_.joinable())
    return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BackgroundTask::start(std::function<Status()> task) {
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([this] { work(); });
    } catch (const std::system_error &) {
      result_ = task();
      return;
    }
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    task_ = std::move(task);
  }
  changed_.notify_all();
}

Status BackgroundTask::wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return !task_; });
  if (exception_)
    std::rethrow_exception(std::exchange(exception_, nullptr));
  return std::exchange(result_, Status());
}

void BackgroundTask::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return task_ || ends_; });
    if (!task_)
      return;
    lock.unlock();
    Status done;
    std::exception_ptr thrown;
    try {
      done = task_();
    } catch (...) {
      thrown = std::current_exception();
    }
    lock.lock();
    result_ = std::move(done);
    exception_ = thrown;
    task_ = nullptr;
    changed_.notify_all();
  }
}

} // namespace mpc::reports
