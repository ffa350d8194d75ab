// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// EventTrace: a timeline of all ranks' steps, messages and waits, as chrome://tracing and Perfetto
// read it.
#ifndef MPC_RUNTIME_TRAINING_EVENT_TRACE_H
#define MPC_RUNTIME_TRAINING_EVENT_TRACE_H

#include "runtime/training/callback.h"
#include "runtime/training/rank_job.h"

namespace mpc::training {

class EventTrace : public Callback {
public:
  /// The job's messages are recorded from now on.
  explicit EventTrace(RankJob &job);
  data::Status stepBegin(int64_t step, const std::vector<int64_t> &rows) override;
  std::string stepEnd(const StepResult &result) override;

  /// Writes the events of all ranks from the first one. All ranks call it, with the same path.
  data::Status write(const std::string &path) const;
  /// One line on how much of the messages went while this rank computed; "" without messages.
  std::string describeOverlap() const;

private:
  std::string lines() const;

  RankJob &job_;
  int64_t begin_ = 0;
  std::string steps_; ///< a line for each: "step", begin and end in nanoseconds, its number
};

/// Lines of EventTrace and EventLog, by rank, as JSON.
std::string timelineOf(const std::vector<std::string> &ranks);

} // namespace mpc::training
#endif
