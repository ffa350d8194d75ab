// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// StepReports: statistics of every N-th step of a training, as files.
#ifndef MPC_RUNTIME_REPORTS_STEP_REPORTS_H
#define MPC_RUNTIME_REPORTS_STEP_REPORTS_H

#include "runtime/reports/background_task.h"
#include "runtime/reports/step_history.h"
#include "runtime/training/callback.h"
#include "runtime/training/event_file.h"

namespace mpc::reports {

struct StepReportOptions {
  std::string folder;
  std::string page;        ///< a file, at the end of the training; empty: none
  std::string tensorBoard; ///< a folder for histograms; empty: none
  int64_t every = 100;
  bool withErrors = false;   ///< each such step also in float32, beside it
  bool withElements = false; ///< the values themselves in a file beside that of the statistics
};

/// Writes `folder`/step-000000000012.json for the step of that number (from 0), of its rows: what
/// the step itself leaves in memory or, for errors, what a copy of it does that runs before it.
/// Files are written while the next steps run, and are there when the training has ended.
class StepReports : public training::Callback {
public:
  static data::Result<std::unique_ptr<StepReports>>
  open(training::Session &session, const data::Dataset &data, StepReportOptions options);
  data::Status stepBegin(int64_t step, const std::vector<int64_t> &rows) override;
  const mpc_rt_entry_info_t *stepEntry(int64_t step) override;
  data::Status stepRan(int64_t step, const std::vector<int64_t> &rows) override;
  data::Status trainEnd() override { return finish(); }
  data::Status interrupted() override { return finish(); }

private:
  StepReports(training::Session &session, const data::Dataset &data, StepReportOptions options)
      : session_(session), data_(data), options_(std::move(options)) {}
  bool isDue(int64_t step) const { return step % options_.every == 0; }
  data::Status write(int64_t step, int64_t rows, std::vector<TracedValue> values);
  /// Waits for the last report, and writes the page.
  data::Status finish();
  std::string fileOf(int64_t step, const char *suffix) const;

  training::Session &session_;
  const data::Dataset &data_;
  StepReportOptions options_;
  std::unique_ptr<TracedModel> model_;           ///< with errors
  const mpc_rt_entry_info_t *watched_ = nullptr; ///< without them
  StepHistory history_;                          ///< for a page, like the last step's values
  std::vector<TracedValue> last_;
  std::optional<training::EventFile> events_;
  BackgroundTask writing_; ///< uses all of the above: waits for it first
};

} // namespace mpc::reports
#endif
