// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/reports/step_reports.h"
#include "runtime/data/atomic_file.h"
#include "runtime/data/npz.h"
#include "runtime/reports/value_report.h"
#include "runtime/training/rank_job.h"

#include <cstdio>
#include <filesystem>

namespace mpc::reports {

using data::Failure;
using data::Result;
using data::Status;

Result<std::unique_ptr<StepReports>> StepReports::open(training::Session &session,
                                                       const data::Dataset &data,
                                                       StepReportOptions options) {
  std::unique_ptr<StepReports> reports(new StepReports(session, data, std::move(options)));
  if (!reports->options_.withErrors)
    reports->watched_ = session.findEntry("watched_step");
  if (!reports->watched_) {
    Result<std::unique_ptr<TracedModel>> model = TracedModel::open(session, /*trains=*/true);
    if (!model)
      return model.failure();
    reports->model_ = std::move(*model);
  }
  const std::string &folder = reports->options_.folder;
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem)
    return Failure(folder + ": cannot be made: " + problem.message() +
                   "; expected a folder for reports");
  return reports;
}

const mpc_rt_entry_info_t *StepReports::stepEntry(int64_t step) {
  return isDue(step) ? watched_ : nullptr;
}

Status StepReports::stepBegin(int64_t step, const std::vector<int64_t> &rows) {
  if (!isDue(step))
    return Status();
  mpc_rt_context_reset_traced(session_.context());
  if (model_) {
    if (options_.withElements)
      model_->keepElements();
    return model_->run(data_, rows);
  }
  const uint32_t bits =
      MPC_RT_TRACE_STATISTICS | (options_.withElements ? uint32_t{MPC_RT_TRACE_KEEP} : 0);
  if (mpc_rt_status_t status = mpc_rt_context_trace(session_.context(), bits))
    return session_.runtimeFailure(status);
  return Status();
}

Status StepReports::stepRan(int64_t step, const std::vector<int64_t> &rows) {
  if (!isDue(step))
    return Status();
  mpc_rt_context_trace(session_.context(), 0);
  char name[32];
  std::snprintf(name, sizeof name, "step-%012lld", static_cast<long long>(step));
  const std::string path = options_.folder + "/" + name;
  if (options_.withElements)
    if (Status status = data::writeNpz(path + ".npz", tracedElements(session_)); !status)
      return status;
  const auto [rank, ranks] = session_.place();
  const size_t own = training::rowsOfRank(rows, rank, ranks).size();
  return data::writeFileAtomically(
      path + ".json", writeReport(tracedValues(session_), /*steps=*/1, static_cast<int64_t>(own)));
}

} // namespace mpc::reports
