// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forming batches and running them.
#include "runtime/serving/batch_queue.h"

namespace mpc::serving {

using data::Failure;

static double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

BatchQueue::BatchQueue(const ServedModel &model, std::vector<BatchRunner> runners,
                       const BatchOptions &options, ServingMetrics &metrics)
    : model_(model), options_(options), metrics_(metrics), runners_(std::move(runners)) {
  for (BatchRunner &runner : runners_)
    workers_.emplace_back([this, &runner] { work(runner); });
}

BatchQueue::~BatchQueue() {
  std::deque<Job> left;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    isEnding_ = true;
    left.swap(waiting_);
  }
  arrived_.notify_all();
  for (std::thread &worker : workers_)
    worker.join();
  for (Job &job : left)
    job.done(Failure("the server ends"));
}

bool BatchQueue::submit(data::Dataset rows, Done done) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (isEnding_ || waiting_.size() >= options_.capacity)
      return false;
    waitingRows_ += rows.rows;
    waiting_.push_back({std::move(rows), std::move(done), Clock::now()});
    metrics_.waiting = static_cast<int64_t>(waiting_.size());
  }
  arrived_.notify_one();
  return true;
}

/// The requests of the next run; none where the queue ends.
std::vector<BatchQueue::Job> BatchQueue::take(std::unique_lock<std::mutex> &lock) {
  std::vector<Job> jobs;
  while (jobs.empty() && !isEnding_) {
    arrived_.wait(lock, [&] { return isEnding_ || !waiting_.empty(); });
    if (isEnding_)
      break;
    if (model_.joinsRows)
      arrived_.wait_until(lock, waiting_.front().arrived + options_.patience, [&] {
        return isEnding_ || waiting_.empty() || waitingRows_ >= options_.largestBatch;
      });
    int64_t rows = 0;
    while (!waiting_.empty() && (jobs.empty() || model_.joinsRows) &&
           (jobs.empty() || rows + waiting_.front().rows.rows <= options_.largestBatch)) {
      rows += waiting_.front().rows.rows;
      jobs.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    waitingRows_ -= rows;
    metrics_.waiting = static_cast<int64_t>(waiting_.size());
  }
  if (!waiting_.empty())
    arrived_.notify_one(); // a notice that this thread took may have been about these
  return jobs;
}

void BatchQueue::work(BatchRunner &runner) {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    std::vector<Job> jobs = take(lock);
    if (jobs.empty())
      return;
    lock.unlock();
    runJobs(runner, std::move(jobs));
    lock.lock();
  }
}

void BatchQueue::runJobs(BatchRunner &runner, std::vector<Job> jobs) {
  std::vector<const data::Dataset *> parts;
  int64_t rows = 0;
  for (const Job &job : jobs) {
    parts.push_back(&job.rows);
    rows += job.rows.rows;
    metrics_.queueSeconds.observe(secondsSince(job.arrived));
  }
  const Clock::time_point start = Clock::now();
  data::Result<std::vector<std::vector<data::Array>>> results = Failure();
  try {
    results = runner.run(parts);
  } catch (const std::bad_alloc &) {
    Failure failure("no memory for a batch of " + std::to_string(rows) + " rows");
    failure.memory = true;
    results = failure;
  }
  metrics_.runSeconds.observe(secondsSince(start));
  metrics_.batchRows.observe(static_cast<double>(rows));
  ++metrics_.runs;
  if (results)
    metrics_.rows += static_cast<uint64_t>(rows);
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (results)
      jobs[i].done(std::move((*results)[i]));
    else
      jobs[i].done(results.failure());
  }
}

} // namespace mpc::serving
