// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// BatchQueue: requests that wait for a run of the model, and the threads that take them, as many
// together as fit one batch. It holds so many and no more.
#ifndef MPC_RUNTIME_SERVING_BATCH_QUEUE_H
#define MPC_RUNTIME_SERVING_BATCH_QUEUE_H

#include "runtime/serving/batch_runner.h"
#include "runtime/serving/serving_metrics.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <thread>

namespace mpc::serving {

struct BatchOptions {
  int64_t largestBatch = 64;                // rows of one run
  std::chrono::microseconds patience{1000}; // how long the first request waits for others
  size_t capacity = 256;                    // requests that wait
};

class BatchQueue {
public:
  using Outputs = data::Result<std::vector<data::Array>>;
  using Done = std::function<void(Outputs)>;

  /// A thread for each runner. `model` and `metrics` must outlive the queue.
  BatchQueue(const ServedModel &model, std::vector<BatchRunner> runners,
             const BatchOptions &options, ServingMetrics &metrics);
  /// Ends after the runs at hand; what waits is answered with a Failure.
  ~BatchQueue();

  /// Takes the rows and calls `done` on a thread of its own, or returns false where the queue is
  /// full. `done` may not throw.
  bool submit(data::Dataset rows, Done done);
  const BatchOptions &options() const { return options_; }

private:
  using Clock = std::chrono::steady_clock;
  struct Job {
    data::Dataset rows;
    Done done;
    Clock::time_point arrived;
  };
  void work(BatchRunner &runner);
  std::vector<Job> take(std::unique_lock<std::mutex> &lock);
  void runJobs(BatchRunner &runner, std::vector<Job> jobs);

  const ServedModel &model_;
  BatchOptions options_;
  ServingMetrics &metrics_;
  std::vector<BatchRunner> runners_;
  std::deque<Job> waiting_;
  int64_t waitingRows_ = 0;
  bool isEnding_ = false;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<std::thread> workers_;
};

} // namespace mpc::serving
#endif
